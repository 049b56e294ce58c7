#include "buffers.hpp"

#include <algorithm>

namespace bayesvm {

double* Buffers::take(std::size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if (it->capacity >= size && it->capacity <= 2 * size + 64 && (best == free_.end() || it->capacity < best->capacity))
      best = it;
  used_.reserve(used_.size() + 1);
  Buffer buffer{nullptr, size + size / 8};
  if (best == free_.end()) {
    buffer.data = new double[buffer.capacity];
  } else {
    buffer = *best;
    kept_ -= buffer.capacity * sizeof(double);
    free_.erase(best);
  }
  used_.push_back(buffer);
  free_.reserve(free_.size() + used_.size()); // so that release cannot fail
  return buffer.data;
}

void Buffers::release(double* data) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = std::find_if(used_.begin(), used_.end(), [data](const Buffer& b) { return b.data == data; });
  if (it == used_.end()) return;
  const Buffer buffer = *it;
  used_.erase(it);
  const std::size_t bytes = buffer.capacity * sizeof(double);
  if (kept_ + bytes > kKept) {
    delete[] buffer.data;
    return;
  }
  kept_ += bytes;
  free_.push_back(buffer);
}

Buffers::~Buffers() {
  for (const Buffer& buffer : free_)
    delete[] buffer.data;
}

} // namespace bayesvm
