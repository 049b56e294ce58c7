// Normalisers Z(m) = int p(t) N(t; m, v) dt of the tilted distributions of labels, with the derivatives of ln Z in m,
// for probabilities p that are zero below a margin of -1 and one above 1; bayesvm.likelihoods.compact_sigmoid states
// the formulas, and the same in NumPy.
#pragma once
#include <cstddef>
#include <vector>

#include "../mode/losses.hpp"

namespace bayesvm::sites {

class Moments {
public:
  // The kind is one of those.
  static bool knows(mode::LossKind kind) {
    return kind == mode::LossKind::trigonometric || kind == mode::LossKind::raised_cosine;
  }
  explicit Moments(mode::LossKind kind);

  // ln Z and its first two derivatives for n means and positive variances.
  void at(const double* mean, const double* var, std::size_t n, double* log_z, double* slope, double* bend) const;

private:
  mode::LossKind kind_;
  const double *node_, *weight_;
  std::vector<double> p_, dp_; // p and p' times the weights

  void within(double mean, double scale, double& p, double& dp, double& bend) const;
  void beyond(double mean, double scale, double& log_z, double& slope, double& bend) const;
};

} // namespace bayesvm::sites
