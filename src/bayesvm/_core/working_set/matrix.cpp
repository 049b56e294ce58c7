#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../exponentials.hpp"

namespace bayesvm::working_set {

Matrix::Matrix(Index n) : order_(static_cast<std::size_t>(n)) {
  std::iota(order_.begin(), order_.end(), Index{0});
}

void DenseMatrix::diagonal(double* out) const {
  for (Index i = 0; i < n_; ++i)
    out[i] = K_[i * n_ + i];
}

void DenseMatrix::columns(const Index* which, Index count, Index first, Index last, double* out) const {
  for (Index c = 0; c < count; ++c) {
    const double* row = K_ + which[c] * n_;
    for (Index r = first; r < last; ++r)
      *out++ = row[order_[r]];
  }
}

KernelMatrix::KernelMatrix(const double* X, Index n, Index d, KernelShape shape, Blas blas)
    : Matrix(n), X_(X), n_(n), d_(d), shape_(shape), blas_(blas), half_(n), by_feature_(n * d) {
  for (Index i = 0; i < n; ++i)
    half_[i] = 0.5 * std::inner_product(X + i * d, X + (i + 1) * d, X + i * d, 0.0);
  arranged();
}

void KernelMatrix::arranged() {
  half_arranged_.resize(static_cast<std::size_t>(n_));
  for (Index r = 0; r < n_; ++r) {
    const double* row = X_ + order_[r] * d_;
    half_arranged_[r] = half_[order_[r]];
    for (Index l = 0; l < d_; ++l)
      by_feature_[l * n_ + r] = row[l];
  }
}

void KernelMatrix::diagonal(double* out) const {
  for (Index i = 0; i < n_; ++i)
    out[i] = shape_.variance * (shape_.gaussian ? 1.0 : std::pow(2.0 * half_[i] + shape_.offset, shape_.degree));
}

void KernelMatrix::columns(const Index* which, Index count, Index first, Index last, double* out) const {
  int rows = static_cast<int>(last - first), d = static_cast<int>(d_), lda = static_cast<int>(n_), one = 1;
  if (rows == 0 || count == 0) return;
  char plain = 'N';
  double unit = 1.0, zero = 0.0;
  double* A = const_cast<double*>(by_feature_.data()) + first; // rows x d, column-major
  if (count == 1) {
    blas_.gemv(&plain, &rows, &d, &unit, A, &lda, const_cast<double*>(X_ + which[0] * d_), &one, &zero, out, &one);
  } else {
    int k = static_cast<int>(count);
    std::vector<double> B(static_cast<std::size_t>(count * d_));
    for (Index c = 0; c < count; ++c)
      std::copy(X_ + which[c] * d_, X_ + (which[c] + 1) * d_, B.begin() + c * d_);
    blas_.gemm(&plain, &plain, &rows, &k, &d, &unit, A, &lda, B.data(), &d, &zero, out, &rows);
  }
  for (Index c = 0; c < count; ++c) {
    double* column = out + c * rows;
    if (shape_.gaussian) {
      gaussian_row(column, half_arranged_.data() + first, half_[which[c]], shape_.variance, rows);
      for (Index r = 0; r < rows; ++r) // the diagonal without rounding
        if (order_[first + r] == which[c]) column[r] = shape_.variance;
    } else {
      polynomial_row(column, shape_.variance, shape_.offset, shape_.degree, rows);
    }
  }
}

} // namespace bayesvm::working_set
