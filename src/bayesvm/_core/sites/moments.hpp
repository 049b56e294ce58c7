// Normalisers Z(m) = int p(t)^w N(t; m, v) dt of the tilted distributions of labels, with the derivatives of ln Z in m;
// bayesvm.likelihoods.tilted states the same in NumPy.
#pragma once
#include <cstddef>

namespace bayesvm::sites {

// Probabilities that rise from zero to one between the margins -1 and 1, and on the whole line.
enum class LabelKind { trigonometric, raised_cosine, logistic, probit };

struct Moment {
  double log_z, slope, bend;
};

// ln Z and its first two derivatives for n means, positive variances and powers from zero to one (null: all one).
void moments(LabelKind kind, const double* mean, const double* var, const double* power, std::size_t n, double* log_z,
             double* slope, double* bend);

} // namespace bayesvm::sites
