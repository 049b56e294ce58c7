// Columns that several solvers share, and views of them on some of the rows.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "matrix.hpp"

namespace bayesvm::working_set {

// All columns of a matrix, each computed once, when it is first asked for; safe to use from several threads. Pages of
// memory that no column has touched cost nothing.
class ColumnStore {
public:
  explicit ColumnStore(std::shared_ptr<const Matrix> matrix);
  Index size() const { return n_; }
  const Matrix& matrix() const { return *matrix_; }
  const double* column(Index which) const;

private:
  std::shared_ptr<const Matrix> matrix_;
  Index n_;
  std::unique_ptr<double[]> data_;
  std::unique_ptr<std::atomic<bool>[]> ready_;
  mutable std::array<std::mutex, 64> locks_;
};

// The rows and columns of a store with the given numbers.
class StoreView final : public Matrix {
public:
  StoreView(std::shared_ptr<const ColumnStore> store, std::vector<Index> rows);
  Index size() const override { return static_cast<Index>(rows_.size()); }
  void diagonal(double* out) const override;
  void columns(const Index* which, Index count, Index first, Index last, double* out) const override;

private:
  void arranged() override;
  std::shared_ptr<const ColumnStore> store_;
  std::vector<Index> rows_, arranged_rows_;
};

} // namespace bayesvm::working_set
