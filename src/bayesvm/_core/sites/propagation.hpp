// Expectation propagation for labels, as bayesvm.inference.ep states it in NumPy: sweeps over all sites at once, damped
// until they contract, then predicted. What needs more than that is left to the caller.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "../buffers.hpp"
#include "../gram/covariance.hpp"
#include "../lapack.hpp"
#include "moments.hpp"

namespace bayesvm::sites {

using Vector = std::vector<double>;

// n labels of a kind, which of their sites stay at zero, and how much each counts (null: none, and one). A row with a
// weight above one occurs that many times; one with a weight below one occurs once, with a power of its probability.
struct Terms {
  const double* y;
  std::size_t n;
  LabelKind kind;
  const std::uint8_t* frozen = nullptr;
  const double* weights = nullptr;
};

// tol and drop as in bayesvm.inference.ep, sweeps at most, the tolerance to which the moments of a rough fixed point
// are matched by prediction in the end (zero: not at all), and what is called between two long sweeps: it may throw.
struct Limits {
  double tol;
  double drop;
  int max_iter;
  double settle = 0.0;
  std::function<void()> pause = {};
};

struct Sites {
  Vector tau, nu;
};

// Marginals under sites: alpha = nu - tau m, rest = 1 - v tau, of all copies of a row.
struct Marginals {
  Vector mean, var, alpha, rest;
};

// What follows from sites and marginals: normalisers at the cavities, the sites that match, the largest mismatch.
struct Matched {
  Vector log_z, slope, bend;
  Sites image;
  double residual = 0.0;
};

struct Sweep {
  Sites sites;
  std::vector<std::int64_t> support;
  Vector root;
  Block L, inverse; // of the factor of B = I + T^1/2 K T^1/2 on the support, and of its inverse
  double log_det = 0.0;
  Marginals marginals;
  Matched matched;
};

struct Propagated {
  Sweep last;
  int n_iter = 0;
  bool converged = false; // if not the rest means nothing
};

// The fixed point for a Gram matrix (n x n) from given sites.
Propagated propagate(const Lapack& lapack, const double* K, const Terms& terms, Sites start, const Limits& limits);

struct Evidence {
  Propagated found;
  Block dK;        // of the log evidence on the support
  Vector gradient; // in the logarithms of the parameters of all terms of the covariance
};

Evidence evidence(const Lapack& lapack, const gram::Covariance& covariance, const Terms& terms, Sites start,
                  const Limits& limits);

} // namespace bayesvm::sites
