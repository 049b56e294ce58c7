// Semismooth Newton for the mode, as bayesvm.solvers.newton states it in NumPy: line search, warm start, chord steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../lapack.hpp"
#include "losses.hpp"

namespace bayesvm::mode {

enum class Ending { converged, stalled, max_iter, not_positive_definite };

// n samples: Gram matrix (n x n), labels or targets, weights of the losses and occurrences (null: all one).
struct Problem {
  const double* K;
  const double* y;
  std::size_t n;
  const Loss& loss;
  const double* weights;
  const double* copies;
};

// An iterate: coefficients, latent values, objective, derivatives of the loss, relative violation of optimality.
struct Point {
  std::vector<double> alpha, f, loss, gradient, curvature, third;
  double objective = 0.0, kkt = 0.0;
};

struct Result {
  Point point;
  int n_iter = 0;
  Ending ending = Ending::converged;
  std::size_t order = 0; // of the matrix that could not be factored
};

// start: latent values, or null.
Result newton(const Lapack& lapack, const Problem& problem, const double* start, double tol, int max_iter);

} // namespace bayesvm::mode
