#include "laplace.hpp"

#include <algorithm>
#include <cmath>

#include "../gram/loops.hpp"
#include "../triangular.hpp"

namespace bayesvm::mode {
namespace {

using Vector = std::vector<double>;

// Below this value of W K_ii a variance is computed without a division by W.
constexpr double kSmall = 1e-4;

// K x for x that is zero off the given rows.
Vector times(gram::Rows& K, const std::vector<std::int64_t>& rows, const Vector& x) {
  Vector out(K.size());
  K.need(rows);
  gram::rows_times(K.at(rows).data(), K.size(), x.data(), rows.size(), out.data());
  return out;
}

// Posterior variances on the support, from the inverse of L and the diagonal of B^-1: (1 - B^-1_kk) / W_k where that
// loses no digits, K_kk - k' R k elsewhere.
Vector variances(const Lapack& lapack, const gram::Rows& K, const Factor& factor, const double* inverse,
                 const Vector& diagonal) {
  const std::size_t m = factor.order();
  const std::vector<std::int64_t>& M = factor.support();
  Vector var(m);
  std::vector<std::size_t> small;
  for (std::size_t k = 0; k < m; ++k) {
    const double W = factor.root()[k] * factor.root()[k], prior = K.diagonal(static_cast<std::size_t>(M[k]));
    if (W * prior < kSmall) small.push_back(k);
    var[k] = W * prior < kSmall ? prior : (1.0 - diagonal[k]) / W;
  }
  const Block cross(std::max<std::size_t>(1, m * small.size()));
  for (std::size_t c = 0; c < small.size(); ++c)
    for (std::size_t k = 0; k < m; ++k)
      cross.get()[c * m + k] = factor.root()[k] * K[M[small[c]]][M[k]];
  Vector explained(small.size());
  lower_products_squares(lapack, inverse, m, cross.get(), small.size(), explained.data());
  for (std::size_t c = 0; c < small.size(); ++c)
    var[small[c]] -= explained[c];
  for (double& v : var)
    v = std::max(v, 0.0);
  return var;
}

// dK = 1/2 (a - q)(a - q)' - 1/2 q q' - 1/2 W^1/2 B^-1 W^1/2 on the given rows, of which those with R are in the
// support; at[k] is where row k stands there, or -1.
void cotangent(const Vector& a, const Vector& q, const Factor& factor, const double* B_inverse,
               const std::vector<std::ptrdiff_t>& at, double* dK) {
  const std::size_t r = a.size(), m = factor.order();
  const bool whole = r == m;
  const Vector& root = factor.root();
  for (std::size_t k = 0; k < r; ++k) {
    double* to = dK + k * r;
    const double x = 0.5 * (a[k] - q[k]), y = 0.5 * q[k];
    for (std::size_t l = 0; l < r; ++l)
      to[l] = x * (a[l] - q[l]) - y * q[l];
    if (at[k] < 0) continue;
    const double* from = B_inverse + static_cast<std::size_t>(at[k]) * m;
    const double half = 0.5 * root[static_cast<std::size_t>(at[k])];
    if (whole)
      for (std::size_t l = 0; l < r; ++l)
        to[l] -= half * root[l] * from[l];
    else
      for (std::size_t l = 0; l < r; ++l)
        if (at[l] >= 0) to[l] -= half * root[static_cast<std::size_t>(at[l])] * from[at[l]];
  }
}

// What follows from the mode and the factor there.
void differentiate(const Lapack& lapack, const gram::Covariance& covariance, gram::Rows& K, Evidence& out) {
  const Factor& factor = out.mode.factor;
  const Point& point = out.mode.point;
  const std::size_t n = K.size(), m = factor.order();
  const std::vector<std::int64_t>& M = factor.support();

  const Block inverse(m * m);
  std::copy_n(factor.L(), m * m, inverse.get());
  invert_lower(lapack, inverse.get(), m, m);
  Vector diagonal(m);
  lower_column_squares(inverse.get(), m, diagonal.data());
  out.var = variances(lapack, K, factor, inverse.get(), diagonal);
  square_lower(lapack, inverse.get(), m);

  Vector u(m), q(n, 0.0);
  bool moves = false;
  for (std::size_t k = 0; k < m; ++k) {
    u[k] = 0.5 * out.var[k] * point.third[static_cast<std::size_t>(M[k])];
    moves = moves || u[k] != 0.0;
  }
  if (moves) {
    const Vector K_u = times(K, M, u);
    Vector back(m);
    for (std::size_t k = 0; k < m; ++k)
      back[k] = K_u[static_cast<std::size_t>(M[k])];
    factor.apply(lapack, back);
    for (std::size_t k = 0; k < m; ++k)
      u[k] -= back[k];
    for (std::size_t k = 0; k < m; ++k)
      q[static_cast<std::size_t>(M[k])] = u[k];
  }

  Vector a, b;
  std::vector<std::ptrdiff_t> at;
  for (std::size_t i = 0, k = 0; i < n; ++i) {
    const bool curved = k < m && M[k] == static_cast<std::int64_t>(i);
    if (curved || point.gradient[i] != 0.0) {
      out.rows.push_back(static_cast<std::int64_t>(i));
      a.push_back(-point.gradient[i]);
      b.push_back(q[i]);
      at.push_back(curved ? static_cast<std::ptrdiff_t>(k) : -1);
    }
    k += curved;
  }
  out.dK = Block(a.size() * a.size());
  cotangent(a, b, factor, inverse.get(), at, out.dK.get());
  out.gradient = covariance.pullback(out.rows.data(), out.rows.size(), out.dK.get());
  out.K_moved = moves ? times(K, M, u) : Vector(n, 0.0);
}

} // namespace

Evidence laplace(const Lapack& lapack, const gram::Covariance& covariance, const Targets& targets, const double* start,
                 const Limits& limits) {
  gram::Rows K(covariance);
  const Problem problem{K, targets.y, covariance.size(), targets.loss, targets.weights, targets.copies};
  Evidence out;
  out.mode = newton(lapack, problem, start, limits);
  if (out.mode.ending == Ending::not_positive_definite) return out;
  try {
    if (!out.mode.factor.is_of(out.mode.point.curvature)) out.mode.factor = Factor(lapack, K, out.mode.point.curvature);
    differentiate(lapack, covariance, K, out);
  } catch (const NotPositiveDefinite& error) {
    out.mode.ending = Ending::not_positive_definite;
    out.mode.order = error.order;
  }
  return out;
}

} // namespace bayesvm::mode
