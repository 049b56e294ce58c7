#include "triangular.hpp"

#include <algorithm>

#include "vector.hpp"

namespace bayesvm {
namespace {

constexpr std::size_t kLeaf = 32;
constexpr std::size_t kTile = 64;

// The same for a small matrix, column by column from the last: column j below the diagonal is -A_jj^-1 times the
// inverse of what stands below and right of it times itself.
BAYESVM_VECTOR void invert_leaf(double* A, std::size_t lda, std::size_t n) {
  for (std::size_t j = n; j-- > 0;) {
    double* column = A + j * lda;
    column[j] = 1.0 / column[j];
    const double scale = -column[j];
    for (std::size_t k = n; k-- > j + 1;) {
      const double x = column[k];
      const double* other = A + k * lda;
#pragma omp simd
      for (std::size_t i = k + 1; i < n; ++i)
        column[i] += x * other[i];
      column[k] = x * other[k];
    }
#pragma omp simd
    for (std::size_t i = j + 1; i < n; ++i)
      column[i] *= scale;
  }
}

} // namespace

void invert_lower(const Lapack& lapack, double* A, std::size_t lda, std::size_t n) {
  if (n <= kLeaf) {
    invert_leaf(A, lda, n);
    return;
  }
  const std::size_t top = (n / 2 + 7) / 8 * 8, rest = n - top;
  double* below = A + top;
  double* corner = below + top * lda;
  invert_lower(lapack, A, lda, top);
  invert_lower(lapack, corner, lda, rest);
  trmm_lower(lapack, 'L', -1.0, corner, lda, below, lda, rest, top);
  trmm_lower(lapack, 'R', 1.0, A, lda, below, lda, rest, top);
}

void square_lower(const Lapack& lapack, double* A, std::size_t n) {
  if (n == 0) return;
  lauum_lower(lapack, A, n);
  for (std::size_t left = 0; left < n; left += kTile) // tile by tile, so that both sides stay in the cache
    for (std::size_t top = left; top < n; top += kTile)
      for (std::size_t j = left; j < std::min(left + kTile, n); ++j)
        for (std::size_t i = std::max(top, j + 1); i < std::min(top + kTile, n); ++i)
          A[i * n + j] = A[j * n + i];
}

BAYESVM_VECTOR void lower_column_squares(const double* A, std::size_t n, double* out) {
  for (std::size_t j = 0; j < n; ++j) {
    const double* column = A + j * n;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = j; i < n; ++i)
      sum += column[i] * column[i];
    out[j] = sum;
  }
}

void lower_products_squares(const Lapack& lapack, const double* A, std::size_t n, double* X, std::size_t count,
                            double* out) {
  if (n > 0 && count > 0) trmm_lower(lapack, 'L', 1.0, A, n, X, n, n, count);
  for (std::size_t c = 0; c < count; ++c) {
    out[c] = 0.0;
    for (std::size_t k = 0; k < n; ++k)
      out[c] += X[c * n + k] * X[c * n + k];
  }
}

} // namespace bayesvm
