// Evidence and its derivatives by Laplace's method, from the covariance's terms to the gradient in their parameters;
// bayesvm.inference.laplace states the formulas, and the same in NumPy.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../buffers.hpp"
#include "../gram/covariance.hpp"
#include "newton.hpp"

namespace bayesvm::mode {

// Labels or targets of n samples, weights of the losses and occurrences (null: all one).
struct Targets {
  const double* y;
  const Loss& loss;
  const double* weights;
  const double* copies;
};

struct Evidence {
  Result mode;                    // with the factor at the mode; the rest means nothing if it could not be factored
  std::vector<std::int64_t> rows; // with a coefficient or curvature: those of dK
  std::vector<double> var;        // posterior variances on the support of the factor
  std::vector<double> K_moved;    // K q, q = (I - R K) u, u = v l''' / 2
  Block dK;                       // of the log evidence, rows x rows
  std::vector<double> gradient;   // in the logarithms of the parameters of all terms
};

Evidence laplace(const Lapack& lapack, const gram::Covariance& covariance, const Targets& targets, const double* start,
                 const Limits& limits);

} // namespace bayesvm::mode
