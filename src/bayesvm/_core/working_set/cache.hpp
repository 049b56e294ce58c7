// Columns of a matrix, kept up to a budget of bytes; the least recently used one goes first.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "matrix.hpp"

namespace bayesvm::working_set {

class ColumnCache {
public:
  // At least two columns are kept whatever the budget says: a step needs two at a time.
  ColumnCache(Matrix& matrix, std::size_t bytes);
  ColumnCache(const ColumnCache&) = delete;
  ColumnCache& operator=(const ColumnCache&) = delete;

  // The first `length` arranged entries of the column with the given number. The pointer is valid until the second next
  // call (or until `keep`); what is missing is computed.
  const double* column(Index which, Index length);

  // The column if all of its first `length` entries are known, otherwise null; does not count as use.
  const double* known(Index which, Index length) const;

  // Only the arranged rows at the given (increasing) positions are kept, and only columns for which `wanted` is set.
  void keep(const std::vector<Index>& positions, const std::vector<char>& wanted);

  Index misses() const { return misses_; }

private:
  struct Entry {
    std::unique_ptr<double[]> data;
    Index length = 0, capacity = 0;
    Index previous = -1, next = -1; // neighbours in the order of use; -1: none
    bool linked = false;
  };
  void link(Index which);
  void unlink(Index which);
  void release(Index which);
  void reserve(Index which, Index length);

  Matrix& matrix_;
  std::vector<Entry> entries_;
  Index newest_ = -1, oldest_ = -1;
  std::size_t budget_, used_ = 0;
  Index kept_ = 0, misses_ = 0;
};

} // namespace bayesvm::working_set
