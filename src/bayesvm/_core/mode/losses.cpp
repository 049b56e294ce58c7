#include "losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../cancellation.hpp"

namespace bayesvm::mode {
namespace {

constexpr double kPi = 3.14159265358979323846264338327950288;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The two likelihoods of labels with a flat part: x and q are the distances to the ends of the curved zone.
Derivatives trigonometric(double x, double q) {
  const bool near = x < 1.0;
  double tangent = std::tan(0.25 * kPi * std::min(x, q));
  const double square = tangent * tangent;
  const double p = (near ? square : 1.0) / (1.0 + square);
  if (near) tangent = 1.0 / tangent;
  const double loss = near ? -std::log(p) : std::log1p(square);
  return {loss, -0.5 * kPi * tangent, 0.125 * kPi * kPi / p, -kPi * kPi * kPi / 16.0 * tangent / p};
}

Derivatives raised_cosine(double x, double q) {
  const bool near = x < 1.0;
  const double angle = kPi * std::min(x, q);
  const double part = y_minus_sin(angle) / (2.0 * kPi);
  const double p = near ? part : 1.0 - part;
  const double sine = std::sin(0.5 * angle), cosine = std::cos(0.5 * angle), square = sine * sine;
  const double r1 = square / p, r2 = (near ? kPi : -kPi) * sine * cosine / p, r3 = kPi * kPi * (0.5 - square) / p;
  const double loss = near ? -std::log(part) : -std::log1p(-part);
  return {loss, -r1, r1 * r1 - r2, r1 * (3.0 * r2 - 2.0 * r1 * r1) - r3};
}

Derivatives zoned(LossKind kind, double t) {
  const double x = 1.0 + t, q = 1.0 - t;
  if (!(x > 0.0)) return {kInfinity, 0.0, 0.0, 0.0};
  if (!(q > 0.0)) return {0.0, 0.0, 0.0, 0.0};
  return kind == LossKind::trigonometric ? trigonometric(x, q) : raised_cosine(x, q);
}

Derivatives logistic(double t) {
  const double small = std::exp(-std::abs(t)); // of the odds of the less likely label
  const double unlikely = small / (1.0 + small), likely = 1.0 / (1.0 + small);
  const double wrong = t > 0.0 ? unlikely : likely, curvature = unlikely * likely;
  return {std::log1p(small) + std::max(-t, 0.0), -wrong, curvature, -curvature * std::tanh(0.5 * t)};
}

// The insensitive losses: flat, a zone of half-width beta epsilon around epsilon, then linear.
Derivatives insensitive(LossKind kind, const std::vector<double>& parameters, double t) {
  const double C = parameters[0], epsilon = parameters[1], beta = parameters[2], log_mass = parameters[3];
  const double size = std::abs(t), width = 2.0 * beta * epsilon;
  const double at = (size - (1.0 - beta) * epsilon) / width;
  const double sign = t > 0.0 ? 1.0 : t < 0.0 ? -1.0 : 0.0;
  if (at < 0.0) return {log_mass, 0.0, 0.0, 0.0};
  if (at > 1.0) return {C * (size - epsilon) + log_mass, C * sign, 0.0, 0.0};
  if (kind == LossKind::soft_insensitive) return {C * width * 0.5 * at * at + log_mass, C * sign * at, C / width, 0.0};
  const double side = std::min(at, 1.0 - at), quarter = std::min(side, 0.5 - side), angle = 2.0 * kPi * at;
  const double sine = std::sin(kPi * side);
  const double twist = std::copysign(2.0 * kPi, 0.5 - at) * std::sin(2.0 * kPi * quarter);
  return {C * width * parabola_minus_versine(angle) / (4.0 * kPi * kPi) + log_mass,
          C * sign * y_minus_sin(angle) / (2.0 * kPi), C / width * 2.0 * sine * sine,
          C / (width * width) * sign * twist};
}

} // namespace

Derivatives Loss::at(double t) const {
  switch (kind) {
  case LossKind::logistic:
    return logistic(t);
  case LossKind::trigonometric:
  case LossKind::raised_cosine:
    return zoned(kind, t);
  default:
    return insensitive(kind, parameters, t);
  }
}

double Loss::majorant(double t) const {
  const Derivatives d = at(t);
  if (count(kind) == 0) return d.curvature;
  const double beyond = std::abs(t) - (1.0 - parameters[2]) * parameters[1];
  return beyond > 0.0 ? std::max(d.curvature, std::abs(d.gradient) / beyond) : d.curvature;
}

} // namespace bayesvm::mode
