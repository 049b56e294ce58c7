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

BAYESVM_VECTOR void add_profile(Profile profile, const double* D, double scale, double variance, double* out,
                                std::size_t count) {
  switch (profile) {
  case Profile::gaussian:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k)
      out[k] += variance * std::exp(-0.5 * scale * D[k]);
    return;
  case Profile::exponential:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k)
      out[k] += variance * std::exp(-std::sqrt(scale * D[k]));
    return;
  case Profile::matern32:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      const double s = std::sqrt(3.0 * scale * D[k]);
      out[k] += variance * (1.0 + s) * std::exp(-s);
    }
    return;
  case Profile::matern52:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      const double s = std::sqrt(5.0 * scale * D[k]);
      out[k] += variance * (1.0 + s + s * s / 3.0) * std::exp(-s);
    }
  }
}

BAYESVM_VECTOR void profile_and_slope(Profile profile, const double* r2, double* value, double* slope,
                                      std::size_t count) {
  switch (profile) {
  case Profile::gaussian:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      value[k] = std::exp(-0.5 * r2[k]);
      slope[k] = -0.5 * value[k];
    }
    return;
  case Profile::exponential:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      const double r = std::sqrt(r2[k]);
      value[k] = std::exp(-r);
      slope[k] = r > 0.0 ? -0.5 * value[k] / r : 0.0;
    }
    return;
  case Profile::matern32:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      const double s = std::sqrt(3.0 * r2[k]), decay = std::exp(-s);
      value[k] = (1.0 + s) * decay;
      slope[k] = -1.5 * decay;
    }
    return;
  case Profile::matern52:
#pragma omp simd
    for (std::size_t k = 0; k < count; ++k) {
      const double s = std::sqrt(5.0 * r2[k]), decay = std::exp(-s);
      value[k] = (1.0 + s + s * s / 3.0) * decay;
      slope[k] = -5.0 / 6.0 * (1.0 + s) * decay;
    }
  }
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
