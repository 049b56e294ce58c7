// Element-wise passes from dot products or distances to covariances, in a file of their own because they are compiled
// for vector exponentials.
#pragma once
#include <cstddef>

namespace bayesvm {

// In place: row[k] = variance * exp(-max(0, half_norm + half_norms[k] - row[k])) for a row of dot products.
void gaussian_row(double* row, const double* half_norms, double half_norm, double variance, std::size_t count);

// out[k] = variance * exp(-scale * D[k]) for squared distances D.
void gaussian_of_squares(const double* D, double scale, double variance, double* out, std::size_t count);

// What is made of a scaled squared distance r^2: exp(-r^2 / 2), exp(-r), and the Matern kernels of smoothness 3/2 and
// 5/2.
enum class Profile { gaussian, exponential, matern32, matern52 };

// out[k] += variance * profile(scale * D[k]).
void add_profile(Profile profile, const double* D, double scale, double variance, double* out, std::size_t count);

// Profile and its derivative in r^2 (zero at r = 0, where only r^2 times it counts).
void profile_and_slope(Profile profile, const double* r2, double* value, double* slope, std::size_t count);

// In place: row[k] = variance * (row[k] + offset)^degree for a row of dot products.
void polynomial_row(double* row, double variance, double offset, int degree, std::size_t count);

} // namespace bayesvm
