// Gaussian integrals by nodes that all samples share.
#pragma once
#include <cstddef>

namespace bayesvm::quadrature {

// out (functions + moments rows of n): row f is sum_k values[f, k] exp(-u^2/2) / (sqrt(2 pi) s), u = (x_k - m) / s, for
// every sample; with one of the moments a row follows with the sum of the last function times u, with two another of
// that times u^2 - 1.
void fixed_rule(const double* values, std::size_t functions, const double* x, std::size_t nodes, const double* mean,
                const double* scale, std::size_t n, std::size_t moments, double* out);

} // namespace bayesvm::quadrature
