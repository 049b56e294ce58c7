#include "exponentials.hpp"

#include <algorithm>
#include <cmath>

#include "vector.hpp"

namespace bayesvm {
namespace {

constexpr std::size_t kBlock = 256;

} // namespace

BAYESVM_VECTOR void gaussian_row(double* row, const double* half_norms, double half_norm, double variance,
                                 std::size_t count) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) {
    const double d = half_norm + half_norms[k] - row[k];
    row[k] = variance * std::exp(-(d > 0.0 ? d : 0.0));
  }
}

BAYESVM_VECTOR void gaussian_of_squares(const double* D, double scale, double variance, double* out,
                                        std::size_t count) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k)
    out[k] = variance * std::exp(-scale * D[k]);
}

BAYESVM_VECTOR void polynomial_row(double* row, double variance, double offset, int degree, std::size_t count) {
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t stop = std::min(start + kBlock, count);
    double power[kBlock];
    for (std::size_t k = start; k < stop; ++k)
      power[k - start] = variance;
    for (int p = 0; p < degree; ++p)
      for (std::size_t k = start; k < stop; ++k)
        power[k - start] *= row[k] + offset;
    std::copy(power, power + (stop - start), row + start);
  }
}

} // namespace bayesvm
