#include "selection.hpp"

#include <algorithm>

#include "../vector.hpp"

namespace bayesvm::working_set {
namespace {

constexpr Index kBlock = 256;
constexpr double kTiny = 1e-12; // least curvature of a pair

// A reduction per block runs in vector registers; the position is looked up in the winning block only.
template <class Value> BAYESVM_INLINE Index first_equal(Index start, Index stop, double wanted, Value value) {
  for (Index k = start; k < stop; ++k)
    if (value(k) == wanted) return k;
  return start;
}

// The extremes of gradient(k) + up[k] and gradient(k) + down[k]; gradient(k) is called once and leaves its value in
// g[k].
template <class Gradient>
BAYESVM_INLINE Extremes extremes_of(const double* g, const double* up, const double* down, Index n, Gradient gradient) {
  Extremes e{4.0 * kHuge, -4.0 * kHuge, 0, 0};
  Index low_block = 0, high_block = 0;
  for (Index start = 0; start < n; start += kBlock) {
    const Index stop = std::min(start + kBlock, n);
    double low = 4.0 * kHuge, high = -4.0 * kHuge;
#pragma omp simd reduction(min : low) reduction(max : high)
    for (Index k = start; k < stop; ++k) {
      const double slope = gradient(k);
      const double u = slope + up[k], d = slope + down[k];
      low = u < low ? u : low;
      high = d > high ? d : high;
    }
    if (low < e.low) e.low = low, low_block = start;
    if (high > e.high) e.high = high, high_block = start;
  }
  const auto above = [=](Index k) { return g[k] + up[k]; };
  const auto below = [=](Index k) { return g[k] + down[k]; };
  e.low_at = first_equal(low_block, std::min(low_block + kBlock, n), e.low, above);
  e.high_at = first_equal(high_block, std::min(high_block + kBlock, n), e.high, below);
  return e;
}

// Position of the largest gain(k); -1 if none is positive.
template <class Gain> BAYESVM_INLINE Index largest(Index n, Gain gain) {
  double gains[kBlock];
  double best = 0.0;
  Index best_at = -1;
  for (Index start = 0; start < n; start += kBlock) {
    const Index count = std::min(kBlock, n - start);
    double top = 0.0;
#pragma omp simd reduction(max : top)
    for (Index k = 0; k < count; ++k) {
      const double value = gain(start + k);
      gains[k] = value;
      top = value > top ? value : top;
    }
    if (top > best) {
      best = top;
      best_at = start + first_equal(0, count, top, [&](Index k) { return gains[k]; });
    }
  }
  return best_at;
}

} // namespace

BAYESVM_VECTOR Extremes extremes(const double* g, const double* up, const double* down, Index n) {
  return extremes_of(g, up, down, n, [=](Index k) { return g[k]; });
}

BAYESVM_VECTOR Extremes advance(double* g, const double* a, double x, const double* b, double y, const double* up,
                                const double* down, Index n) {
  return extremes_of(g, up, down, n, [=](Index k) { return g[k] = g[k] + x * a[k] + y * b[k]; });
}

BAYESVM_VECTOR Index partner(const double* g, const double* down, const double* quad, const double* column,
                             double level, double quad_i, Index n) {
  return largest(n, [=](Index k) {
    const double d = g[k] + down[k] - level;
    const double q = quad_i + quad[k] - 2.0 * column[k];
    const double positive = d > 0.0 ? d : 0.0;
    return positive * positive / (q > kTiny ? q : kTiny);
  });
}

BAYESVM_VECTOR Index best_single(const double* g, const double* up, const double* down, const double* quad, Index n) {
  return largest(n, [=](Index k) {
    const double grow = -(g[k] + up[k]), fall = g[k] + down[k];
    double v = grow > fall ? grow : fall;
    v = v > 0.0 ? v : 0.0;
    return v * v / (quad[k] > kTiny ? quad[k] : kTiny);
  });
}

BAYESVM_VECTOR Index best_second(const double* g, const double* up, const double* down, const double* quad,
                                 const double* column, double g_i, double quad_i, Index self, Index n) {
  return largest(n, [=](Index k) {
    const double u = g[k] + up[k], d = g[k] + down[k];
    const double v = u < 0.0 ? u : (d > 0.0 ? d : 0.0);
    const bool movable = k != self && (v != 0.0 || u == d); // it violates, or lies between its bounds
    const double c = column[k], q = quad[k];
    const double det = quad_i * q - c * c, least = 1e-10 * quad_i * q + kTiny;
    return movable ? (g_i * g_i * q - 2.0 * g_i * v * c + v * v * quad_i) / (det > least ? det : least) : 0.0;
  });
}

BAYESVM_VECTOR void add(double* g, const double* a, double x, Index n) {
#pragma omp simd
  for (Index k = 0; k < n; ++k)
    g[k] += x * a[k];
}

} // namespace bayesvm::working_set
