// Element-wise passes from dot products or distances to covariances, in a file of their own because they are compiled
// for vector exponentials.
#pragma once
#include <cstddef>

namespace bayesvm {

// In place: row[k] = variance * exp(-max(0, half_norm + half_norms[k] - row[k])) for a row of dot products.
void gaussian_row(double* row, const double* half_norms, double half_norm, double variance, std::size_t count);

// out[k] = variance * exp(-scale * D[k]) for squared distances D.
void gaussian_of_squares(const double* D, double scale, double variance, double* out, std::size_t count);

// In place: row[k] = variance * (row[k] + offset)^degree for a row of dot products.
void polynomial_row(double* row, double variance, double offset, int degree, std::size_t count);

} // namespace bayesvm
