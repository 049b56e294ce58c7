#include "compact_sigmoid.hpp"

#include <algorithm>
#include <cmath>

#include "../cancellation.hpp"
#include "../vector.hpp"
#include "rule.hpp"

namespace bayesvm::sites {
namespace {

constexpr double kPi = 3.14159265358979323846264338327950288;
const double kRoot2 = std::sqrt(2.0), kRoot2Pi = std::sqrt(2.0 * kPi);
// Means that are left of -1 by so many standard deviations are deep: what counts there is the corner at -1, down to
// exp(-kFall) of its height.
constexpr double kDeep = 3.0;
constexpr double kFall = 50.0;
// Where the edge at -1 is not farther left of the mean than kNear standard deviations, the integrand of a power rises
// from there on and counts as far as kFarReach.
constexpr double kNear = 6.0;
constexpr double kFarReach = 9.0;
constexpr std::size_t kBlock = 64;

// p at t = -1 + x, x between 0 and 2, and its derivative.
double probability(LabelKind kind, double x) {
  if (kind == LabelKind::raised_cosine) return y_minus_sin(kPi * x) / (2.0 * kPi);
  const double sine = std::sin(0.25 * kPi * x);
  return sine * sine;
}

double rate(LabelKind kind, double x) {
  if (kind == LabelKind::trigonometric) return 0.25 * kPi * std::sin(0.5 * kPi * x);
  const double sine = std::sin(0.5 * kPi * x);
  return sine * sine;
}

double within_zone(double x) {
  return std::min(std::max(x, 0.0), 2.0);
}

double upper_tail(double u) {
  return 0.5 * std::erfc(u / kRoot2);
}

// Integrals of p N, p' N and p' (t - m)/s N over (-1, 1), times s sqrt(2 pi), by nodes that all samples share.
BAYESVM_VECTOR void fixed_rule(const double* node, const double* p, const double* dp, const double* mean,
                               const double* inverse_scale, std::size_t count, double* first, double* second,
                               double* third) {
  for (std::size_t j = 0; j < count; ++j)
    first[j] = second[j] = third[j] = 0.0;
  for (std::size_t k = 0; k < kNodes; ++k) {
    const double x = node[k], a = p[k], b = dp[k];
#pragma omp simd
    for (std::size_t j = 0; j < count; ++j) {
      const double u = (x - mean[j]) * inverse_scale[j], bell = std::exp(-0.5 * u * u);
      first[j] += a * bell;
      second[j] += b * bell;
      third[j] += b * u * bell;
    }
  }
}

} // namespace

CompactSigmoid::CompactSigmoid(LabelKind kind) : kind_(kind), p_(kNodes), dp_(kNodes) {
  for (std::size_t k = 0; k < kNodes; ++k) {
    p_[k] = rule().weight[k] * probability(kind, 1.0 + rule().node[k]);
    dp_[k] = rule().weight[k] * rate(kind, 1.0 + rule().node[k]);
  }
}

// The same three integrals for a narrow Gaussian, by nodes on what lies within its reach.
void CompactSigmoid::within(double mean, double scale, double& p, double& dp, double& bend) const {
  const double low = std::max((-1.0 - mean) / scale, -kReach), high = std::min((1.0 - mean) / scale, kReach);
  p = dp = bend = 0.0;
  if (!(low < high)) return;
  Nodes<1> nodes;
  nodes.add(low, high);
  for (std::size_t k = 0; k < nodes.count; ++k) {
    const double u = nodes.at[k], bell = nodes.weight[k] * std::exp(-0.5 * u * u) / kRoot2Pi;
    const double x = within_zone(1.0 + (mean + scale * u)), slope = rate(kind_, x);
    p += probability(kind_, x) * bell;
    dp += slope * bell;
    bend += slope * u * bell;
  }
}

// Everything for a mean far left of -1, from mean and variance of r = (t + 1)/s under p(t)^w exp(-u r - r^2 / 2), u the
// distance of the mean from -1 in standard deviations; p is one beyond t = 1.
Moment CompactSigmoid::beyond(double mean, double scale, double power) const {
  const double u = (-1.0 - mean) / scale, end = 2.0 * kFall / (u + std::sqrt(u * u + 2.0 * kFall));
  const double edge = std::min(2.0 / scale, end);
  Nodes<3> nodes;
  if (power < 1.0)
    nodes.add_graded(0.0, edge);
  else
    nodes.add(0.0, edge);
  const std::size_t inside = nodes.count;
  nodes.add(edge, end);
  double height[3 * kNodes], mass = 0.0, first = 0.0, second = 0.0;
  for (std::size_t k = 0; k < nodes.count; ++k) {
    const double r = nodes.at[k];
    double p = k < inside ? probability(kind_, std::min(scale * r, 2.0)) : 1.0;
    if (power < 1.0) p = std::pow(p, power);
    height[k] = nodes.weight[k] * p * std::exp(-(u + 0.5 * r) * r);
    mass += height[k];
    first += height[k] * r;
  }
  first /= mass;
  for (std::size_t k = 0; k < nodes.count; ++k)
    second += height[k] * (nodes.at[k] - first) * (nodes.at[k] - first);
  return {std::log(mass / kRoot2Pi) - 0.5 * u * u, (u + first) / scale, (second / mass - 1.0) / (scale * scale)};
}

// Mean and variance of u = (t - m)/s; what lies above t = 1 is that of a Gaussian.
Moment CompactSigmoid::to_power(double mean, double var, double power) const {
  if (power == 1.0) {
    Moment found;
    at(&mean, &var, 1, &found.log_z, &found.slope, &found.bend);
    return found;
  }
  const double scale = std::sqrt(var);
  if (mean < -1.0 - kDeep * scale) return beyond(mean, scale, power);
  const double edge = (-1.0 - mean) / scale, low = std::max(edge, -kReach);
  const double end = (1.0 - mean) / scale, tail = upper_tail(end);
  const double inner = std::max(edge, 0.0); // at most kDeep
  const double reach = edge > -kNear ? std::sqrt(inner * inner + kFarReach * kFarReach) : kReach;
  const double high = std::min(end, reach);
  const double bell_at_end = std::exp(-0.5 * end * end) / kRoot2Pi;
  Nodes<2> nodes;
  if (low < high && low == edge)
    nodes.add_graded(low, high);
  else if (low < high)
    nodes.add(low, high);
  double height[2 * kNodes], total = tail, first = bell_at_end;
  for (std::size_t k = 0; k < nodes.count; ++k) {
    const double u = nodes.at[k], x = within_zone(low == edge ? scale * (u - low) : 1.0 + (mean + scale * u));
    height[k] = nodes.weight[k] * std::pow(probability(kind_, x), power) * std::exp(-0.5 * u * u) / kRoot2Pi;
    total += height[k];
    first += height[k] * u;
  }
  first /= total;
  const double where = std::min(std::max(end, -kReach), kReach); // beyond that the bell is zero
  double second = tail * (1.0 + first * first) + bell_at_end * (where - 2.0 * first);
  for (std::size_t k = 0; k < nodes.count; ++k)
    second += height[k] * (nodes.at[k] - first) * (nodes.at[k] - first);
  return {std::log(total), first / scale, std::min((second / total - 1.0) / var, 0.0)};
}

void CompactSigmoid::at(const double* mean, const double* var, std::size_t n, double* log_z, double* slope,
                        double* bend) const {
  double scale[kBlock], inverse[kBlock], p[kBlock], dp[kBlock], second[kBlock];
  for (std::size_t top = 0; top < n; top += kBlock) {
    const std::size_t count = std::min(kBlock, n - top);
    for (std::size_t j = 0; j < count; ++j) {
      scale[j] = std::sqrt(var[top + j]);
      inverse[j] = 1.0 / scale[j];
    }
    fixed_rule(rule().node, p_.data(), dp_.data(), mean + top, inverse, count, p, dp, second);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t i = top + j;
      const double m = mean[i], s = scale[j];
      if (m < -1.0 - kDeep * s) {
        const Moment found = beyond(m, s, 1.0);
        log_z[i] = found.log_z, slope[i] = found.slope, bend[i] = found.bend;
        continue;
      }
      const double unit = inverse[j] / kRoot2Pi;
      p[j] *= unit, dp[j] *= unit, second[j] *= unit;
      if (s * kWidth < 1.0) within(m, s, p[j], dp[j], second[j]);
      const double total = p[j] + upper_tail((1.0 - m) / s), ratio = dp[j] / total;
      log_z[i] = std::log(total);
      slope[i] = ratio;
      bend[i] = std::min(second[j] / (s * total) - ratio * ratio, 0.0);
    }
  }
}

} // namespace bayesvm::sites
