#include "smo_fill.hpp"

#include <algorithm>
#include <cmath>

#include "smo_vector.hpp"

namespace bayesvm::smo {
namespace {

constexpr Index kBlock = 256;

} // namespace

BAYESVM_VECTOR void gaussian_column(double* column, const double* half, double half_j, double variance, Index n) {
#pragma omp simd
  for (Index k = 0; k < n; ++k) {
    const double d = half_j + half[k] - column[k];
    column[k] = variance * std::exp(-(d > 0.0 ? d : 0.0));
  }
}

BAYESVM_VECTOR void polynomial_column(double* column, double variance, double offset, int degree, Index n) {
  for (Index start = 0; start < n; start += kBlock) {
    const Index stop = std::min(start + kBlock, n);
    double power[kBlock];
    for (Index k = start; k < stop; ++k)
      power[k - start] = variance;
    for (int p = 0; p < degree; ++p)
      for (Index k = start; k < stop; ++k)
        power[k - start] *= column[k] + offset;
    std::copy(power, power + (stop - start), column + start);
  }
}

} // namespace bayesvm::smo
