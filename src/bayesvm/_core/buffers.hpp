// Memory for matrices that is used again: the pages of a new large array cost about as much as the factorisation of a
// matrix of 400 rows in it. Buffers that Python has let go of are kept, up to kKept bytes.
#pragma once
#include <cstddef>
#include <mutex>
#include <vector>

namespace bayesvm {

class Buffers {
public:
  // Memory for at least the given number of doubles.
  double* take(std::size_t size);
  // Give it back.
  void release(double* data) noexcept;
  ~Buffers();

private:
  static constexpr std::size_t kKept = std::size_t{64} << 20;

  struct Buffer {
    double* data;
    std::size_t capacity;
  };
  std::mutex mutex_;
  std::vector<Buffer> free_, used_;
  std::size_t kept_ = 0;
};

// Those of this module. They live as long as the process: arrays may be let go of after everything else.
inline Buffers& buffers() {
  static Buffers* const all = new Buffers;
  return *all;
}

} // namespace bayesvm
