#include "cache.hpp"

#include <algorithm>

namespace bayesvm::working_set {

ColumnCache::ColumnCache(Matrix& matrix, std::size_t bytes)
    : matrix_(matrix), entries_(static_cast<std::size_t>(matrix.size())), budget_(bytes) {}

void ColumnCache::link(Index which) {
  Entry& e = entries_[which];
  e.previous = -1;
  e.next = newest_;
  if (newest_ >= 0) entries_[newest_].previous = which;
  newest_ = which;
  if (oldest_ < 0) oldest_ = which;
  e.linked = true;
  ++kept_;
}

void ColumnCache::unlink(Index which) {
  Entry& e = entries_[which];
  (e.previous >= 0 ? entries_[e.previous].next : newest_) = e.next;
  (e.next >= 0 ? entries_[e.next].previous : oldest_) = e.previous;
  e.linked = false;
  --kept_;
}

void ColumnCache::release(Index which) {
  Entry& e = entries_[which];
  if (e.linked) unlink(which);
  used_ -= static_cast<std::size_t>(e.capacity) * sizeof(double);
  e.data.reset();
  e.length = e.capacity = 0;
}

// Make room for `length` entries of an unlinked column; a buffer of an evicted column is taken over where it fits.
void ColumnCache::reserve(Index which, Index length) {
  Entry& e = entries_[which];
  if (e.capacity >= length) return;
  std::unique_ptr<double[]> data;
  Index capacity = length;
  const auto needed = static_cast<std::size_t>(length - e.capacity) * sizeof(double);
  while (used_ + needed > budget_ && kept_ >= 2) {
    Entry& old = entries_[oldest_];
    if (!data && old.capacity >= length && old.capacity <= length + length / 8) {
      data = std::move(old.data);
      capacity = old.capacity;
      used_ -= static_cast<std::size_t>(old.capacity) * sizeof(double);
      old.capacity = 0;
    }
    release(oldest_);
    if (data) break;
  }
  if (!data) data.reset(new double[static_cast<std::size_t>(length)]);
  if (e.length > 0) std::copy(e.data.get(), e.data.get() + e.length, data.get());
  used_ += static_cast<std::size_t>(capacity - e.capacity) * sizeof(double);
  e.data = std::move(data);
  e.capacity = capacity;
}

const double* ColumnCache::column(Index which, Index length) {
  Entry& e = entries_[which];
  if (e.linked) unlink(which);
  if (e.length < length) {
    ++misses_;
    reserve(which, length);
    matrix_.columns(&which, 1, e.length, length, e.data.get() + e.length);
    e.length = length;
  }
  link(which);
  return e.data.get();
}

const double* ColumnCache::known(Index which, Index length) const {
  const Entry& e = entries_[which];
  return e.length >= length ? e.data.get() : nullptr;
}

void ColumnCache::keep(const std::vector<Index>& positions, const std::vector<char>& wanted) {
  for (Index which = 0; which < static_cast<Index>(entries_.size()); ++which) {
    Entry& e = entries_[which];
    if (e.length == 0) continue;
    if (!wanted[which]) {
      release(which);
      continue;
    }
    const Index end = std::lower_bound(positions.begin(), positions.end(), e.length) - positions.begin();
    double* to = e.data.get();
    for (Index r = 0; r < end; ++r)
      to[r] = to[positions[r]];
    e.length = end;
  }
}

} // namespace bayesvm::working_set
