// The Gram matrix by rows: given as a whole, or computed where it is asked for. A sparse likelihood needs the rows of
// its support alone, a fifth to a third of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../buffers.hpp"
#include "covariance.hpp"

namespace bayesvm::gram {

class Rows {
public:
  Rows(const double* K, std::size_t n);
  explicit Rows(const Covariance& covariance);

  std::size_t size() const { return row_.size(); }
  // Compute what is not known yet of the given rows. Where most are needed all are computed, at half the cost of each.
  void need(const std::vector<std::int64_t>& rows);
  // A row that is known.
  const double* operator[](std::int64_t i) const { return row_[static_cast<std::size_t>(i)]; }
  // Where the given rows, which are known, begin.
  std::vector<const double*> at(const std::vector<std::int64_t>& rows) const;
  double diagonal(std::size_t i) const { return covariance_ == nullptr ? row_[i][i] : covariance_->diagonal(i); }
  // The matrix, or null if it is not known as a whole.
  const double* whole() const { return whole_; }

private:
  const Covariance* covariance_ = nullptr;
  const double* whole_ = nullptr;
  std::vector<const double*> row_; // null: not known
  std::vector<Block> blocks_;
  std::size_t known_ = 0;

  void compute(const std::vector<std::int64_t>& rows);
  void compute_all();
};

} // namespace bayesvm::gram
