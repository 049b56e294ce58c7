#include "loops.hpp"

#include <algorithm>
#include <vector>

#include "../exponentials.hpp"
#include "../vector.hpp"

namespace bayesvm::gram {
namespace {

constexpr std::size_t kBlock = 64;

// out += sum_k x_k row_k for four rows: out is read and written once for all of them.
BAYESVM_VECTOR void add_scaled(const double* const* row, const double* x, double* out, std::size_t count) {
  const double *a = row[0], *b = row[1], *c = row[2], *d = row[3];
  const double p = x[0], q = x[1], r = x[2], s = x[3];
#pragma omp simd
  for (std::size_t j = 0; j < count; ++j)
    out[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j]);
}

std::vector<const double*> starts(const double* K, std::size_t n, const std::int64_t* rows, std::size_t m) {
  std::vector<const double*> out(m);
  for (std::size_t k = 0; k < m; ++k)
    out[k] = K + static_cast<std::size_t>(rows[k]) * n;
  return out;
}

} // namespace

// Tile by tile, so that both sides stay in cache.
void mirror(double* A, std::size_t n, std::size_t top, std::size_t bottom) {
  for (std::size_t left = top; left < n; left += kBlock) {
    const std::size_t right = std::min(left + kBlock, n);
    for (std::size_t i = top; i < bottom; ++i)
      for (std::size_t j = std::max(left, i + 1); j < right; ++j)
        A[j * n + i] = A[i * n + j];
  }
}

void gaussian_from_inner(double* G, std::size_t n, double variance) {
  std::vector<double> half(n);
  for (std::size_t i = 0; i < n; ++i)
    half[i] = 0.5 * G[i * n + i];
  for (std::size_t top = 0; top < n; top += kBlock) {
    const std::size_t bottom = std::min(top + kBlock, n);
    for (std::size_t i = top; i < bottom; ++i) {
      gaussian_row(G + i * n + i + 1, half.data() + i + 1, half[i], variance, n - i - 1);
      G[i * n + i] = variance;
    }
    mirror(G, n, top, bottom);
  }
}

void gaussian_of_distances(const double* D, std::size_t rows, std::size_t columns, bool symmetric, double scale,
                           double variance, double* out) {
  if (!symmetric) {
    gaussian_of_squares(D, scale, variance, out, rows * columns);
    return;
  }
  const std::size_t n = rows;
  for (std::size_t top = 0; top < n; top += kBlock) {
    const std::size_t bottom = std::min(top + kBlock, n);
    for (std::size_t i = top; i < bottom; ++i)
      gaussian_of_squares(D + i * n + i, scale, variance, out + i * n + i, n - i);
    mirror(out, n, top, bottom);
  }
}

void rows_times(const double* K, std::size_t n, const std::int64_t* rows, const double* x, std::size_t m, double* out) {
  rows_times(starts(K, n, rows, m).data(), n, x, m, out);
}

void rows_times(const double* const* rows, std::size_t n, const double* x, std::size_t m, double* out) {
  std::fill(out, out + n, 0.0);
  std::size_t k = 0;
  for (; k + 4 <= m; k += 4)
    add_scaled(rows + k, x + k, out, n);
  if (k == m) return;
  const double* last[4];
  double rest[4];
  for (std::size_t l = 0; l < 4; ++l) {
    last[l] = rows[std::min(k + l, m - 1)];
    rest[l] = k + l < m ? x[k + l] : 0.0;
  }
  add_scaled(last, rest, out, n);
}

void scaled_block(const double* K, std::size_t n, const std::int64_t* rows, const double* root, std::size_t m,
                  double* out) {
  scaled_block(starts(K, n, rows, m).data(), rows, root, m, out);
}

void scaled_block(const double* const* K_rows, const std::int64_t* rows, const double* root, std::size_t m,
                  double* out) {
  for (std::size_t i = 0; i < m; ++i) {
    const double* row = K_rows[i];
    double* to = out + i * m;
    std::fill(to, to + i, 0.0);
    for (std::size_t j = i; j < m; ++j)
      to[j] = root[i] * root[j] * row[rows[j]];
    to[i] += 1.0;
  }
}

} // namespace bayesvm::gram
