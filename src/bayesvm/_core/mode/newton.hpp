// Semismooth Newton for the mode, as bayesvm.solvers.newton states it in NumPy: line search, warm start, chord steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "../gram/rows.hpp"
#include "../lapack.hpp"
#include "factor.hpp"
#include "losses.hpp"

namespace bayesvm::mode {

enum class Ending { converged, stalled, max_iter, not_positive_definite };

// n samples: Gram matrix (n x n), labels or targets, weights of the losses and occurrences (null: all one).
struct Problem {
  gram::Rows& K;
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
  Factor factor;         // of the last step
};

// When the search ends, and what is called between two long steps: it may throw to end it.
struct Limits {
  double tol;
  int max_iter;
  std::function<void()> pause = {};
};

// Rows from which on a factorisation is long enough for a pause after it.
constexpr std::size_t kLong = 400;

// start: latent values, or null.
Result newton(const Lapack& lapack, const Problem& problem, const double* start, const Limits& limits);

} // namespace bayesvm::mode
