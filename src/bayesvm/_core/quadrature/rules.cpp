#include "rules.hpp"

#include <cmath>
#include <vector>

#include "../vector.hpp"

namespace bayesvm::quadrature {
namespace {

constexpr double kRoot2Pi = 2.50662827463100050241576528481104525;

BAYESVM_VECTOR void bells(const double* x, std::size_t nodes, double mean, double inverse, double* u, double* bell) {
#pragma omp simd
  for (std::size_t k = 0; k < nodes; ++k) {
    u[k] = (x[k] - mean) * inverse;
    bell[k] = std::exp(-0.5 * u[k] * u[k]);
  }
}

BAYESVM_VECTOR double dot(const double* a, const double* b, std::size_t count) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < count; ++k)
    sum += a[k] * b[k];
  return sum;
}

} // namespace

void fixed_rule(const double* values, std::size_t functions, const double* x, std::size_t nodes, const double* mean,
                const double* scale, std::size_t n, std::size_t moments, double* out) {
  std::vector<double> u(nodes), bell(nodes);
  const double* last = values + (functions - 1) * nodes;
  for (std::size_t i = 0; i < n; ++i) {
    const double factor = 1.0 / (kRoot2Pi * scale[i]);
    bells(x, nodes, mean[i], 1.0 / scale[i], u.data(), bell.data());
    for (std::size_t f = 0; f < functions; ++f)
      out[f * n + i] = factor * dot(values + f * nodes, bell.data(), nodes);
    for (std::size_t order = 0; order < moments; ++order) {
      for (std::size_t k = 0; k < nodes; ++k)
        bell[k] *= u[k];
      const double sum = factor * dot(last, bell.data(), nodes);
      out[(functions + order) * n + i] = order == 1 ? sum - out[(functions - 1) * n + i] : sum;
    }
  }
}

} // namespace bayesvm::quadrature
