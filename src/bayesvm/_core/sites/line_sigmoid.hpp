// Tilted moments for probabilities that rise on the whole line: logistic and probit.
#pragma once
#include "moments.hpp"

namespace bayesvm::sites {

// For a mean, a positive variance and a power of the probability above zero, at most one. The probit without a power is
// a closed form; else the integral is by panels around the maximum of the integrand, as in
// bayesvm.likelihoods.quadrature.
Moment line_sigmoid(LabelKind kind, double mean, double var, double power);

} // namespace bayesvm::sites
