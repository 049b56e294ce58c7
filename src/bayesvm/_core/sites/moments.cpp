#include "moments.hpp"

#include <algorithm>
#include <cmath>

#include "../cancellation.hpp"
#include "../vector.hpp"

namespace bayesvm::sites {
namespace {

constexpr double kPi = 3.14159265358979323846264338327950288;
const double kRoot2Pi = std::sqrt(2.0 * kPi);
// Nodes of the rule, and the half-width, in standard deviations, up to which it resolves a Gaussian.
constexpr std::size_t kNodes = 40;
constexpr double kWidth = 8.0;
// Standard deviations beyond which a Gaussian does not count, and means that are left of -1 by so many are deep: what
// counts there is the corner at -1, down to exp(-kFall) of its height.
constexpr double kReach = 8.246211251235321;
constexpr double kDeep = 3.0;
constexpr double kFall = 50.0;
constexpr std::size_t kBlock = 64;

// p at t = -1 + x, x between 0 and 2, and its derivative.
double probability(mode::LossKind kind, double x) {
  if (kind == mode::LossKind::raised_cosine) return y_minus_sin(kPi * x) / (2.0 * kPi);
  const double sine = std::sin(0.25 * kPi * x);
  return sine * sine;
}

double rate(mode::LossKind kind, double x) {
  if (kind == mode::LossKind::trigonometric) return 0.25 * kPi * std::sin(0.5 * kPi * x);
  const double sine = std::sin(0.5 * kPi * x);
  return sine * sine;
}

// The rule of Gauss and Legendre on (-1, 1), its nodes by Newton's method.
struct Rule {
  double node[kNodes], weight[kNodes];

  Rule() {
    for (std::size_t k = 0; k < kNodes; ++k) {
      double x = -std::cos(kPi * (static_cast<double>(k) + 0.75) / (kNodes + 0.5)), slope = 1.0;
      for (int step = 0; step < 10; ++step) {
        double last = 1.0, value = x;
        for (std::size_t j = 2; j <= kNodes; ++j) {
          const double order = static_cast<double>(j);
          const double next = ((2.0 * order - 1.0) * x * value - (order - 1.0) * last) / order;
          last = value;
          value = next;
        }
        slope = kNodes * (last - x * value) / (1.0 - x * x);
        x -= value / slope;
      }
      node[k] = x;
      weight[k] = 2.0 / ((1.0 - x * x) * slope * slope);
    }
  }
};

const Rule& rule() {
  static const Rule found;
  return found;
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

Moments::Moments(mode::LossKind kind)
    : kind_(kind), node_(rule().node), weight_(rule().weight), p_(kNodes), dp_(kNodes) {
  for (std::size_t k = 0; k < kNodes; ++k) {
    p_[k] = weight_[k] * probability(kind, 1.0 + node_[k]);
    dp_[k] = weight_[k] * rate(kind, 1.0 + node_[k]);
  }
}

// The same three integrals for a narrow Gaussian, by nodes on what lies within its reach.
void Moments::within(double mean, double scale, double& p, double& dp, double& bend) const {
  const double low = std::max((-1.0 - mean) / scale, -kReach), high = std::min((1.0 - mean) / scale, kReach);
  const double half = 0.5 * (high - low);
  p = dp = bend = 0.0;
  if (half <= 0.0) return;
  for (std::size_t k = 0; k < kNodes; ++k) {
    const double u = low + half * (1.0 + node_[k]);
    const double bell = weight_[k] * half * std::exp(-0.5 * u * u) / kRoot2Pi;
    const double x = std::min(std::max(1.0 + (mean + scale * u), 0.0), 2.0), slope = rate(kind_, x);
    p += probability(kind_, x) * bell;
    dp += slope * bell;
    bend += slope * u * bell;
  }
}

// Everything for a mean far left of -1, from mean and variance of r = (t + 1)/s under p(t) exp(-u r - r^2 / 2), u the
// distance of the mean from -1 in standard deviations; p is one beyond t = 1.
void Moments::beyond(double mean, double scale, double& log_z, double& slope, double& bend) const {
  const double u = (-1.0 - mean) / scale, end = 2.0 * kFall / (u + std::sqrt(u * u + 2.0 * kFall));
  const double edge = std::min(2.0 / scale, end), ends[] = {0.0, edge, end};
  double r[2 * kNodes], height[2 * kNodes], mass = 0.0, first = 0.0, second = 0.0;
  for (std::size_t piece = 0, at = 0; piece < 2; ++piece) {
    const double half = 0.5 * (ends[piece + 1] - ends[piece]);
    for (std::size_t k = 0; k < kNodes; ++k, ++at) {
      r[at] = ends[piece] + half * (1.0 + node_[k]);
      const double p = piece == 0 ? probability(kind_, std::min(scale * r[at], 2.0)) : 1.0;
      height[at] = half * weight_[k] * p * std::exp(-(u + 0.5 * r[at]) * r[at]);
      mass += height[at];
      first += height[at] * r[at];
    }
  }
  first /= mass;
  for (std::size_t k = 0; k < 2 * kNodes; ++k)
    second += height[k] * (r[k] - first) * (r[k] - first);
  log_z = std::log(mass / kRoot2Pi) - 0.5 * u * u;
  slope = (u + first) / scale;
  bend = (second / mass - 1.0) / (scale * scale);
}

void Moments::at(const double* mean, const double* var, std::size_t n, double* log_z, double* slope,
                 double* bend) const {
  double scale[kBlock], inverse[kBlock], p[kBlock], dp[kBlock], second[kBlock];
  for (std::size_t top = 0; top < n; top += kBlock) {
    const std::size_t count = std::min(kBlock, n - top);
    for (std::size_t j = 0; j < count; ++j) {
      scale[j] = std::sqrt(var[top + j]);
      inverse[j] = 1.0 / scale[j];
    }
    fixed_rule(node_, p_.data(), dp_.data(), mean + top, inverse, count, p, dp, second);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t i = top + j;
      const double m = mean[i], s = scale[j];
      if (m < -1.0 - kDeep * s) {
        beyond(m, s, log_z[i], slope[i], bend[i]);
        continue;
      }
      const double unit = inverse[j] / kRoot2Pi;
      p[j] *= unit, dp[j] *= unit, second[j] *= unit;
      if (s * kWidth < 1.0) within(m, s, p[j], dp[j], second[j]);
      const double total = p[j] + 0.5 * std::erfc((1.0 - m) / (std::sqrt(2.0) * s)), ratio = dp[j] / total;
      log_z[i] = std::log(total);
      slope[i] = ratio;
      bend[i] = std::min(second[j] / (s * total) - ratio * ratio, 0.0);
    }
  }
}

} // namespace bayesvm::sites
