// Tilted moments for probabilities that are zero below a margin of -1 and one above 1;
// bayesvm.likelihoods.compact_sigmoid states the formulas.
#pragma once
#include <cstddef>
#include <vector>

#include "moments.hpp"

namespace bayesvm::sites {

class CompactSigmoid {
public:
  explicit CompactSigmoid(LabelKind kind);

  // For n means and positive variances.
  void at(const double* mean, const double* var, std::size_t n, double* log_z, double* slope, double* bend) const;
  // For a power of the probability, above zero and at most one.
  Moment to_power(double mean, double var, double power) const;

private:
  LabelKind kind_;
  std::vector<double> p_, dp_; // p and p' times the weights of the rule

  void within(double mean, double scale, double& p, double& dp, double& bend) const;
  Moment beyond(double mean, double scale, double power) const;
};

} // namespace bayesvm::sites
