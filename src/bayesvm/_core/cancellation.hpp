// Differences that cancel near zero, as bayesvm.likelihoods.cancellation states them in NumPy.
#pragma once
#include <cmath>

namespace bayesvm {

// sum over k of (-1)^k x^k / (2 k + first)!, nine terms.
inline double alternating_series(double x, int first) {
  double term = 1.0, sum = 0.0;
  for (int k = 2; k <= first; ++k)
    term /= k;
  for (int k = 0; k < 9; ++k) {
    sum += term;
    term *= -x / ((2 * k + first + 1) * (2.0 * k + first + 2));
  }
  return sum;
}

inline double y_minus_sin(double y) {
  return std::abs(y) < 1.0 ? y * y * y * alternating_series(y * y, 3) : y - std::sin(y);
}

// y^2 / 2 - 1 + cos y.
inline double parabola_minus_versine(double y) {
  const double sine = std::sin(0.5 * y);
  return std::abs(y) < 1.0 ? y * y * y * y * alternating_series(y * y, 4) : 0.5 * y * y - 2.0 * sine * sine;
}

} // namespace bayesvm
