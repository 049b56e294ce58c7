// Inverses of triangular matrices.
#pragma once
#include <cstddef>

#include "lapack.hpp"

namespace bayesvm {

// In place: the lower triangle of A (n x n, column-major, leading dimension lda) becomes its inverse; what stands above
// the diagonal is not touched. Halves are inverted one after the other and joined by two products, so that nearly all
// of the work is done by trmm.
void invert_lower(const Lapack& lapack, double* A, std::size_t lda, std::size_t n);

// In place: the lower triangle of A becomes A' A, and what stands above the diagonal is filled in.
void square_lower(const Lapack& lapack, double* A, std::size_t n);

// out[j] = squared norm of column j of the lower triangle of A.
void lower_column_squares(const double* A, std::size_t n, double* out);

// out[c] = squared norm of A x_c for a lower triangular A (n x n) and the columns x_c of X (n x count), which are
// overwritten.
void lower_products_squares(const Lapack& lapack, const double* A, std::size_t n, double* X, std::size_t count,
                            double* out);

} // namespace bayesvm
