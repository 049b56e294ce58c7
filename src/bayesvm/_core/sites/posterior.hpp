// The Gaussian posterior under Gaussian terms exp(nu_i f_i - tau_i f_i^2 / 2) with tau >= 0, and its marginals.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../lapack.hpp"

namespace bayesvm::sites {

// Below this value of tau_i K_ii a variance is computed without a division by tau_i.
constexpr double kSmall = 1e-6;
// Least posterior variance, relative to the largest prior variance.
constexpr double kFloor = 1e-15;

// Where the results go: L and its inverse (m x m, column-major, lower triangles), and vectors over all n points.
struct Results {
  double* L;
  double* inverse;
  double* alpha;
  double* mean;
  double* var;
  double* rest;
  double log_det;
};

// K (n x n, symmetric); support: the m rows with tau > 0, root: the roots of tau there. Returns LAPACK's info: zero, or
// the order of the leading minor of I + W^1/2 K W^1/2 that is not positive definite (then the results mean nothing).
int posterior(const Lapack& lapack, const double* K, std::size_t n, const std::int64_t* support, const double* root,
              std::size_t m, const double* nu, Results& results);

// First-order changes of the m marginals on the support when tau and nu change by dtau and dnu: with V the posterior
// covariance and pull = dnu - dtau * mean, dmean = V pull and dvar = -(V * V) dtau (element-wise square). V comes from
// B^-1 (m x m, both triangles), V = W^-1/2 (I - B^-1) W^-1/2.
void response(const double* B_inverse, std::size_t m, const double* root, const double* dtau, const double* pull,
              double* dmean, double* dvar);

} // namespace bayesvm::sites
