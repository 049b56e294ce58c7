#include "posterior.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "../gram/loops.hpp"
#include "../triangular.hpp"
#include "../vector.hpp"

namespace bayesvm::sites {
namespace {

// first = sum_i a_i p_i, second = sum_i a_i^2 t_i.
BAYESVM_VECTOR void products(const double* a, const double* p, const double* t, std::size_t count, double& first,
                             double& second) {
  double x = 0.0, y = 0.0;
#pragma omp simd reduction(+ : x, y)
  for (std::size_t i = 0; i < count; ++i) {
    x += a[i] * p[i];
    y += a[i] * a[i] * t[i];
  }
  first = x;
  second = y;
}

// mean = K alpha. Off the support M alpha = nu; on it alpha = R (nu / tau - K (nu off M)), R = W^1/2 B^-1 W^1/2: the
// difference nu - R K nu is the same number, but loses as many digits as tau K has.
void coefficients(const Lapack& lapack, const double* K, std::size_t n, const std::int64_t* support, const double* root,
                  std::size_t m, const double* nu, Results& results) {
  std::vector<double> part(m);
  std::copy(nu, nu + n, results.alpha);
  for (std::size_t k = 0; k < m; ++k)
    results.alpha[support[k]] = 0.0;
  std::fill(results.mean, results.mean + n, 0.0);
  if (std::any_of(results.alpha, results.alpha + n, [](double x) { return x != 0.0; }))
    symv_lower(lapack, K, n, results.alpha, results.mean);
  for (std::size_t k = 0; k < m; ++k)
    part[k] = nu[support[k]] / root[k] - root[k] * results.mean[support[k]];
  if (m > 0) solve_lower(lapack, results.L, m, part.data());
  for (std::size_t k = 0; k < m; ++k)
    results.alpha[support[k]] = root[k] * part[k];
  symv_lower(lapack, K, n, results.alpha, results.mean);
}

// var[i] = K_ii - |inverse W^1/2 K_Mi|^2 for the given points, with the inverse of L.
void explained_variances(const Lapack& lapack, const double* K, std::size_t n, const std::int64_t* support,
                         const double* root, std::size_t m, const double* inverse,
                         const std::vector<std::size_t>& points, double* var) {
  const std::size_t count = points.size();
  if (count == 0 || m == 0) return;
  std::unique_ptr<double[]> cross(new double[m * count]);
  for (std::size_t c = 0; c < count; ++c) {
    const double* row = K + points[c] * n;
    for (std::size_t k = 0; k < m; ++k)
      cross[c * m + k] = root[k] * row[support[k]];
  }
  std::vector<double> explained(count);
  lower_products_squares(lapack, inverse, m, cross.get(), count, explained.data());
  for (std::size_t c = 0; c < count; ++c)
    var[points[c]] -= explained[c];
}

} // namespace

int posterior(const Lapack& lapack, const double* K, std::size_t n, const std::int64_t* support, const double* root,
              std::size_t m, const double* nu, Results& results) {
  gram::scaled_block(K, n, support, root, m, results.L); // its upper triangle in rows is the lower one in columns
  const int info = m > 0 ? potrf_lower(lapack, results.L, m) : 0;
  if (info != 0) return info;
  results.log_det = 0.0;
  for (std::size_t k = 0; k < m; ++k)
    results.log_det += 2.0 * std::log(results.L[k * m + k]);
  coefficients(lapack, K, n, support, root, m, nu, results);

  std::copy(results.L, results.L + m * m, results.inverse);
  invert_lower(lapack, results.inverse, m, m);
  std::vector<double> diagonal(m);
  lower_column_squares(results.inverse, m, diagonal.data());

  double largest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    results.var[i] = K[i * n + i];
    results.rest[i] = 1.0;
    largest = std::max(largest, results.var[i]);
  }
  std::vector<std::size_t> others;
  std::size_t k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (k == m || support[k] != static_cast<std::int64_t>(i)) {
      others.push_back(i);
      continue;
    }
    const double tau = root[k] * root[k];
    results.rest[i] = diagonal[k];
    if (tau * results.var[i] < kSmall)
      others.push_back(i);
    else
      results.var[i] = (1.0 - diagonal[k]) / tau;
    ++k;
  }
  explained_variances(lapack, K, n, support, root, m, results.inverse, others, results.var);
  for (std::size_t i = 0; i < n; ++i)
    results.var[i] = std::max(results.var[i], kFloor * largest);
  return 0;
}

void response(const double* B_inverse, std::size_t m, const double* root, const double* dtau, const double* pull,
              double* dmean, double* dvar) {
  std::vector<double> p(m), t(m);
  for (std::size_t k = 0; k < m; ++k) {
    p[k] = pull[k] / root[k];
    t[k] = dtau[k] / (root[k] * root[k]);
  }
  for (std::size_t k = 0; k < m; ++k) {
    const double* column = B_inverse + k * m;
    double first = 0.0, second = 0.0;
    products(column, p.data(), t.data(), m, first, second);
    const double own = column[k];
    dmean[k] = (p[k] - first) / root[k];
    dvar[k] = -(second + (1.0 - 2.0 * own) * t[k]) / (root[k] * root[k]); // (1 - own)^2 in the place of own^2
  }
}

} // namespace bayesvm::sites
