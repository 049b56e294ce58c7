// The separable part of a dual problem of a support vector machine.
//
//   minimise over a:  1/2 a' K a + sum_i h_i(a_i)   subject to  lower_i <= a_i <= upper_i  [and sum_i a_i = 0],
//   h_i(a) = -target_i a + kink_i |a| + bend_i a^2 / 2 + weight_i c(|a| / weight_i),
//   c(x) = (4/pi) x arctan(2x/pi) - ln(1 + (2x/pi)^2),
//
// with a_i = alpha_i - alpha_i^* (Thesis C.3: the two never differ from zero together) or y_i alpha_i. Thesis (B.18),
// (B.30) and (4.25) have weight 0; Chu2003 (25) and (43) have kink = bend = 0 and weight 1.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bayesvm::working_set {

using Index = std::int64_t;

// Stands for infinity in loops that are compiled for finite numbers.
constexpr double kHuge = 1e300;
constexpr double kPi = 3.14159265358979323846;

struct Terms {
  std::vector<double> target, kink, bend, weight, lower, upper;

  Index size() const { return static_cast<Index>(target.size()); }

  // One-sided derivative of h_i at a in the given direction (+1 or -1), bounds left aside.
  double slope(Index i, double a, int direction) const {
    double s = bend[i] * a - target[i];
    if (kink[i] > 0.0) s += (a > 0.0 || (a == 0.0 && direction > 0)) ? kink[i] : -kink[i];
    if (weight[i] > 0.0) s += (4.0 / kPi) * std::atan(2.0 * a / (kPi * weight[i]));
    return s;
  }

  double curvature(Index i, double a) const {
    if (weight[i] <= 0.0) return bend[i];
    const double x = a / weight[i];
    return bend[i] + 8.0 / ((kPi * kPi + 4.0 * x * x) * weight[i]);
  }

  double value(Index i, double a) const {
    double h = (0.5 * bend[i] * a - target[i]) * a + kink[i] * std::abs(a);
    if (weight[i] > 0.0) {
      const double x = 2.0 * std::abs(a) / (kPi * weight[i]);
      h += weight[i] * (2.0 * x * std::atan(x) - std::log1p(x * x));
    }
    return h;
  }

  // Derivative of h_i to the right of a (kHuge at the upper bound), and to the left (-kHuge at the lower bound).
  double up(Index i, double a) const { return a < upper[i] ? slope(i, a, 1) : kHuge; }
  double down(Index i, double a) const { return a > lower[i] ? slope(i, a, -1) : -kHuge; }

  // Next point beyond a in the given direction where h_i is not smooth or ends.
  double next_knot(Index i, double a, int direction) const {
    const double end = direction > 0 ? upper[i] : lower[i];
    return kink[i] > 0.0 && a * direction < 0.0 && end * direction > 0.0 ? 0.0 : end;
  }

  bool curved(Index i) const { return weight[i] > 0.0; }
};

} // namespace bayesvm::working_set
