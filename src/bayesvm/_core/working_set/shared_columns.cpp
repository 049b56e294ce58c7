#include "shared_columns.hpp"

namespace bayesvm::working_set {

ColumnStore::ColumnStore(std::shared_ptr<const Matrix> matrix)
    : matrix_(std::move(matrix)), n_(matrix_->size()),
      data_(new double[static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_)]),
      ready_(new std::atomic<bool>[static_cast<std::size_t>(n_)]()) {}

const double* ColumnStore::column(Index which) const {
  double* data = data_.get() + which * n_;
  if (ready_[which].load(std::memory_order_acquire)) return data;
  const std::lock_guard<std::mutex> lock(locks_[static_cast<std::size_t>(which) % locks_.size()]);
  if (!ready_[which].load(std::memory_order_relaxed)) {
    matrix_->columns(&which, 1, 0, n_, data);
    ready_[which].store(true, std::memory_order_release);
  }
  return data;
}

StoreView::StoreView(std::shared_ptr<const ColumnStore> store, std::vector<Index> rows)
    : Matrix(static_cast<Index>(rows.size())), store_(std::move(store)), rows_(std::move(rows)) {
  arranged();
}

void StoreView::arranged() {
  arranged_rows_.resize(rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r)
    arranged_rows_[r] = rows_[order_[r]];
}

void StoreView::diagonal(double* out) const {
  std::vector<double> all(static_cast<std::size_t>(store_->size()));
  store_->matrix().diagonal(all.data());
  for (std::size_t i = 0; i < rows_.size(); ++i)
    out[i] = all[rows_[i]];
}

void StoreView::columns(const Index* which, Index count, Index first, Index last, double* out) const {
  for (Index c = 0; c < count; ++c) {
    const double* column = store_->column(rows_[which[c]]);
    for (Index r = first; r < last; ++r)
      *out++ = column[arranged_rows_[r]];
  }
}

} // namespace bayesvm::working_set
