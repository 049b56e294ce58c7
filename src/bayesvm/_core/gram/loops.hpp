// Element-wise loops over Gram matrices. All arrays are dense, row-major, double; sizes are checked by the caller.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bayesvm::gram {

// G (n x n, symmetric): inner products on entry, variance * exp(-|x_i - x_j|^2 / 2) on return.
void gaussian_from_inner(double* G, std::size_t n, double variance);

// out = variance * exp(-scale * D) for D of the given shape; if symmetric, only the upper triangle of D is read.
void gaussian_of_distances(const double* D, std::size_t rows, std::size_t columns, bool symmetric, double scale,
                           double variance, double* out);

// out (n) = sum over m of x[m] * K[rows[m], :]  for K of n columns.
void rows_times(const double* K, std::size_t n, const std::int64_t* rows, const double* x, std::size_t m, double* out);

// The same for rows that may lie anywhere.
void rows_times(const double* const* rows, std::size_t n, const double* x, std::size_t m, double* out);

// out (m x m): upper triangle of I + root root' * K[rows, rows]; the rest is zero.
void scaled_block(const double* K, std::size_t n, const std::int64_t* rows, const double* root, std::size_t m,
                  double* out);

// The same for the rows K[rows[0], :], ... that may lie anywhere.
void scaled_block(const double* const* K_rows, const std::int64_t* rows, const double* root, std::size_t m,
                  double* out);

// Copy rows top..bottom of the upper triangle of A (n x n) below the diagonal.
void mirror(double* A, std::size_t n, std::size_t top, std::size_t bottom);

} // namespace bayesvm::gram
