// Memory for matrices that is used again: the pages of a new large array cost about as much as the factorisation of a
// matrix of 400 rows in it. Buffers that Python has let go of are kept, up to kKept bytes.
#pragma once
#include <cstddef>
#include <mutex>
#include <utility>
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

// Doubles from there, for as long as the object lives.
class Block {
public:
  Block() = default;
  explicit Block(std::size_t size) : data_(buffers().take(size)) {}
  Block(Block&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Block() {
    if (data_ != nullptr) buffers().release(data_);
  }
  double* get() const { return data_; }
  // Hand them over: whoever takes them has to release them.
  double* handed_over() { return std::exchange(data_, nullptr); }

private:
  double* data_ = nullptr;
};

} // namespace bayesvm
