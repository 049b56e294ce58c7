#include "line_search.hpp"

#include <algorithm>

namespace bayesvm::working_set {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int sign(double x) {
  return x > 0.0 ? 1 : -1;
}

double distance(const Terms& terms, const Mover& m) {
  if (m.direction == 0.0) return kInfinity;
  const int s = sign(m.direction);
  return std::max(0.0, (terms.next_knot(m.index, m.value, s) - m.value) / m.direction);
}

// First and second derivative of h along the line at distance t (the derivative to the right at t = 0).
double slope_at(const Terms& terms, const Mover& m, double t) {
  if (m.direction == 0.0) return 0.0;
  return m.direction * terms.slope(m.index, m.value + m.direction * t, sign(m.direction));
}

double curvature_at(const Terms& terms, const Mover& m, double t) {
  if (m.direction == 0.0) return 0.0;
  return m.direction * m.direction * terms.curvature(m.index, m.value + m.direction * t);
}

// Zero of the derivative inside a segment of length `limit` where h is smooth; kInfinity if it lies beyond. The steps
// are Newton's within a trust region (Thesis app. G): a radius that doubles whenever a step would leave it, and the
// bracket of the zero found so far. The derivative increases, so the bracket is valid.
double newton(const Terms& terms, const Mover& a, const Mover& b, double slope, double curvature, double limit) {
  if (limit < kInfinity && slope + curvature * limit + slope_at(terms, a, limit) + slope_at(terms, b, limit) <= 0.0)
    return kInfinity;
  double low = 0.0, high = limit, t = 0.0, radius = 1.0;
  for (int step = 0; step < 100; ++step) {
    const double s = slope + curvature * t + slope_at(terms, a, t) + slope_at(terms, b, t);
    const double c = curvature + curvature_at(terms, a, t) + curvature_at(terms, b, t);
    (s < 0.0 ? low : high) = t;
    double move = -s / c;
    if (std::abs(move) <= 4e-16 * t) break;
    if (std::abs(move) > radius) {
      move = std::copysign(radius, move);
      radius *= 2.0;
    }
    const double next = t + move;
    t = next > low && next < high ? next : 0.5 * (low + high);
  }
  return t;
}

void advance(const Terms& terms, Mover& m, double t, double own) {
  if (m.direction == 0.0) return;
  m.value = t >= own ? terms.next_knot(m.index, m.value, sign(m.direction)) : m.value + m.direction * t;
}

} // namespace

double minimize_on_line(const Terms& terms, Mover& first, Mover& second, double slope, double curvature) {
  const bool curved = terms.curved(first.index) || (second.direction != 0.0 && terms.curved(second.index));
  double total = 0.0;
  for (int segment = 0; segment < 6; ++segment) { // at most two kinks and one bound
    const double s = slope + slope_at(terms, first, 0.0) + slope_at(terms, second, 0.0);
    const double own_first = distance(terms, first), own_second = distance(terms, second);
    const double limit = std::min(own_first, own_second);
    if (!(s < 0.0) || limit <= 0.0) break;
    double t;
    if (curved) {
      t = newton(terms, first, second, slope, curvature, limit);
    } else {
      const double c = curvature + curvature_at(terms, first, 0.0) + curvature_at(terms, second, 0.0);
      t = c > 0.0 ? -s / c : kInfinity;
    }
    const bool inside = t < limit;
    t = std::min(t, limit);
    if (t == kInfinity) break; // no curvature and no bound: the caller's problem has no minimum on this line
    advance(terms, first, t, own_first);
    advance(terms, second, t, own_second);
    slope += curvature * t;
    total += t;
    if (inside) break;
  }
  return total;
}

} // namespace bayesvm::working_set
