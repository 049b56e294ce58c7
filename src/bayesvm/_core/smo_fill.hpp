// Element-wise passes from dot products to covariances, apart from the other loops because they are compiled for vector
// exponentials.
#pragma once
#include "smo_terms.hpp"

namespace bayesvm::smo {

// In place: variance * exp(-(half_j + half - dot)).
void gaussian_column(double* column, const double* half, double half_j, double variance, Index n);

// In place: variance * (dot + offset)^degree.
void polynomial_column(double* column, double variance, double offset, int degree, Index n);

} // namespace bayesvm::smo
