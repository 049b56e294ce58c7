// Losses with their first three derivatives in t, the margin or the residual, one sample at a time.
#pragma once
#include <vector>

namespace bayesvm::mode {

enum class LossKind { trigonometric, raised_cosine, logistic, soft_insensitive, smooth_insensitive };

struct Derivatives {
  double loss, gradient, curvature, third;
};

// A loss and its parameters: none for labels; C, epsilon, beta and the logarithm of the normaliser for noise.
struct Loss {
  LossKind kind;
  std::vector<double> parameters;

  // Whether t is the margin y f, or the residual y - f.
  bool of_margin() const {
    return kind == LossKind::trigonometric || kind == LossKind::raised_cosine || kind == LossKind::logistic;
  }
  // How many parameters it has.
  static std::size_t count(LossKind kind) {
    return kind == LossKind::soft_insensitive || kind == LossKind::smooth_insensitive ? 4 : 0;
  }
  Derivatives at(double t) const;
  // Curvature at t, at least that of the parabola around the edge of the flat part that touches the loss at t.
  double majorant(double t) const;
};

} // namespace bayesvm::mode
