#include "line_sigmoid.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "../vector.hpp"
#include "rule.hpp"

namespace bayesvm::sites {
namespace {

const double kRoot2 = std::sqrt(2.0);
constexpr double kRoot2Pi = 2.50662827463100050242;
constexpr double kHalfLog2Pi = 0.918938533204672741780;
// Margins below -kTail use the continued fraction of the Mills ratio, which has converged there after kDepth terms.
constexpr double kTail = 2.0;
constexpr int kDepth = 64;
// The normal probability of margins below this underflows.
constexpr double kLeast = -35.0;
// The integrand counts down to exp(-kDrop) of its maximum; a panel may end a little beyond that.
constexpr double kDrop = 34.0;
constexpr int kSteps = 60;
// Ends of the zones in which one rule resolves the bend at zero.
constexpr double kLogisticKnots[] = {-40.0, -15.0, -5.0, 5.0, 15.0, 40.0};
constexpr double kProbitKnots[] = {-10.0, -3.0, 3.0, 10.0};
constexpr std::size_t kPanels = 7;

// ln p with its first derivative and the negative of its second.
struct LogProbability {
  double value, rate, bend;
};

LogProbability logistic(double t) {
  const double small = std::exp(-std::abs(t)), unlikely = small / (1.0 + small), likely = 1.0 / (1.0 + small);
  return {std::min(t, 0.0) - std::log1p(small), t > 0.0 ? unlikely : likely, unlikely * likely};
}

LogProbability probit(double t) {
  if (t > -kTail) {
    const double above = 0.5 * std::erfc(t / kRoot2), p = 1.0 - above;
    const double rate = std::exp(-0.5 * t * t) / (kRoot2Pi * p);
    return {std::log1p(-above), rate, rate * (t + rate)};
  }
  const double a = -t;
  double e = 0.0;
  for (int k = kDepth; k > 0; --k)
    e = (k + 1.0) / (a + e);
  const double delta = 1.0 / (a + e), rate = a + delta;
  return {-0.5 * t * t - kHalfLog2Pi - std::log(rate), rate, rate * delta};
}

LogProbability log_probability(LabelKind kind, double t) {
  return kind == LabelKind::logistic ? logistic(t) : probit(t);
}

// ln p alone, for many margins.
BAYESVM_VECTOR void log_logistic(const double* t, std::size_t n, double* out) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k)
    out[k] = (t[k] < 0.0 ? t[k] : 0.0) - std::log(1.0 + std::exp(-std::abs(t[k])));
}

void log_probit(const double* t, std::size_t n, double* out) {
  for (std::size_t k = 0; k < n; ++k)
    out[k] = t[k] < kLeast ? probit(t[k]).value
             : t[k] < 0.0  ? std::log(0.5 * std::erfc(-t[k] / kRoot2))
                           : std::log1p(-0.5 * std::erfc(t[k] / kRoot2));
}

BAYESVM_VECTOR void exponentials(double* x, std::size_t n) {
#pragma omp simd
  for (std::size_t k = 0; k < n; ++k)
    x[k] = std::exp(x[k]);
}

// g(u) = w ln p(m + s u) - u^2 / 2, which is concave, with its first derivative and the negative of its second.
struct Exponent {
  LabelKind kind;
  double mean, scale, power;

  struct Value {
    double u, log_p, slope, bend;
  };

  Value at(double u) const {
    const LogProbability p = log_probability(kind, mean + scale * u);
    return {u, p.value, power * scale * p.rate - u, 1.0 + power * scale * scale * p.bend};
  }

  // g(from) - g(to), where squares of large numbers do not cancel.
  double fall(const Value& from, const Value& to) const {
    const double d = to.u - from.u;
    return power * (from.log_p - to.log_p) + d * (from.u + 0.5 * d);
  }

  // Near the maximum: it lies between u = 0 and g'(0), and g is within g'^2 / 2 of it. Newton steps alternate with
  // geometric bisection, since the scale of u is not known.
  Value near_maximum() const {
    Value found = at(0.0);
    double low = 0.0, high = found.slope;
    for (int step = 0; step < kSteps && std::abs(found.slope) > 0.1; ++step) {
      const double newton = found.u + found.slope / found.bend;
      const bool bisect = step % 2 == 1 || !(newton > low && newton < high);
      found = at(bisect ? std::sqrt(std::max(low, 1e-16 * high) * high) : newton);
      (found.slope > 0.0 ? low : high) = found.u;
    }
    return found;
  }

  // How far from a point near the maximum g falls by kDrop at least. The fall is convex: a Newton step from beyond ends
  // beyond.
  double reach(const Value& top, double side) const {
    double d = std::abs(top.slope) + std::sqrt(top.slope * top.slope + 2.0 * kDrop);
    for (int step = 0; step < kSteps; ++step) {
      const Value there = at(top.u + side * d);
      const double beyond = fall(top, there) - kDrop, rate = -side * there.slope;
      if (!(beyond > 0.05 * kDrop && rate > 0.0)) break;
      d -= beyond / rate;
    }
    return d;
  }
};

} // namespace

Moment line_sigmoid(LabelKind kind, double mean, double var, double power) {
  if (kind == LabelKind::probit && power == 1.0) { // int Phi(t) N(t; m, v) dt = Phi(m / sqrt(1 + v))
    const double scale = std::sqrt(1.0 + var);
    const LogProbability p = probit(mean / scale);
    return {p.value, p.rate / scale, -p.bend / (scale * scale)};
  }
  const double scale = std::sqrt(var);
  const Exponent g{kind, mean, scale, power};
  const Exponent::Value top = g.near_maximum();
  double low = top.u - g.reach(top, -1.0);
  const double high = top.u + g.reach(top, 1.0);
  Nodes<kPanels> nodes;
  const double* const knots = kind == LabelKind::logistic ? kLogisticKnots : kProbitKnots;
  const std::size_t count = kind == LabelKind::logistic ? std::size(kLogisticKnots) : std::size(kProbitKnots);
  for (std::size_t k = 0; k < count; ++k) {
    const double knot = (knots[k] - mean) / scale;
    if (!(knot > low && knot < high)) continue;
    nodes.add(low, knot);
    low = knot;
  }
  nodes.add(low, high);

  const std::size_t n = nodes.count;
  double t[kPanels * kNodes], height[kPanels * kNodes];
  for (std::size_t k = 0; k < n; ++k)
    t[k] = mean + scale * nodes.at[k];
  kind == LabelKind::logistic ? log_logistic(t, n, height) : log_probit(t, n, height);
  for (std::size_t k = 0; k < n; ++k) {
    const double d = nodes.at[k] - top.u;
    height[k] = power * (height[k] - top.log_p) - d * (top.u + 0.5 * d);
  }
  exponentials(height, n);
  double mass = 0.0, first = 0.0, second = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    mass += height[k] *= nodes.weight[k];
    first += height[k] * (nodes.at[k] - top.u);
  }
  first /= mass;
  for (std::size_t k = 0; k < n; ++k) {
    const double d = nodes.at[k] - top.u - first;
    second += height[k] * d * d;
  }
  return {power * top.log_p - 0.5 * top.u * top.u + std::log(mass / kRoot2Pi), (top.u + first) / scale,
          std::min((second / mass - 1.0) / var, 0.0)};
}

} // namespace bayesvm::sites
