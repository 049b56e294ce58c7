#include "covariance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "../buffers.hpp"
#include "../vector.hpp"

namespace bayesvm::gram {
namespace {

// Rows of inner products that are computed together.
constexpr std::size_t kTogether = 64;

// Squared distances of features from inner products, in place; what rounding cannot tell from zero is zero.
BAYESVM_VECTOR void distances_from_inner(double* inner, double norm, const double* norms, double tolerance,
                                         std::size_t count) {
#pragma omp simd
  for (std::size_t j = 0; j < count; ++j) {
    const double sum = norm + norms[j], r2 = sum - 2.0 * inner[j];
    inner[j] = r2 > tolerance * sum ? r2 : 0.0;
  }
}

double rounding(std::size_t d) {
  return (4.0 + std::sqrt(static_cast<double>(d))) * std::numeric_limits<double>::epsilon();
}

// slope = q slope; returns the sums of q value and of slope r2.
BAYESVM_VECTOR std::pair<double, double> weighted(const double* q, const double* value, double* slope, const double* r2,
                                                  std::size_t count) {
  double across = 0.0, along = 0.0;
#pragma omp simd reduction(+ : across, along)
  for (std::size_t l = 0; l < count; ++l) {
    across += q[l] * value[l];
    slope[l] *= q[l];
    along += slope[l] * r2[l];
  }
  return {across, along};
}

// The features of some rows.
std::vector<double> gathered(const double* X, std::size_t d, const std::int64_t* rows, std::size_t count) {
  std::vector<double> out(count * d);
  for (std::size_t k = 0; k < count; ++k)
    std::copy_n(X + static_cast<std::size_t>(rows[k]) * d, d, out.data() + k * d);
  return out;
}

BAYESVM_VECTOR double total(const double* Q, std::size_t size) {
  double sum = 0.0;
  for (std::size_t k = 0; k < size; ++k)
    sum += Q[k];
  return sum;
}

} // namespace

Profile Term::profile() const {
  switch (kind) {
  case TermKind::exponential:
    return Profile::exponential;
  case TermKind::matern32:
    return Profile::matern32;
  case TermKind::matern52:
    return Profile::matern52;
  default:
    return Profile::gaussian;
  }
}

std::size_t Term::count() const {
  if (kind == TermKind::constant) return 1;
  if (kind == TermKind::linear) return d;
  return 1 + (D == nullptr ? d : 1);
}

Covariance::Covariance(const Lapack& lapack, std::vector<Term> terms, std::size_t n)
    : lapack_(lapack), terms_(std::move(terms)), n_(n), diagonal_(n, 0.0) {
  for (const Term& term : terms_) {
    std::vector<double> norms(term.X == nullptr ? 0 : n, 0.0);
    for (std::size_t i = 0; i < norms.size(); ++i)
      for (std::size_t l = 0; l < term.d; ++l)
        norms[i] += term.X[i * term.d + l] * term.X[i * term.d + l];
    for (std::size_t i = 0; i < n; ++i)
      diagonal_[i] += term.kind == TermKind::linear ? norms[i] : term.variance;
    norms_.push_back(std::move(norms));
  }
}

void Covariance::fill(const std::int64_t* rows, std::size_t count, std::size_t from, double* out) const {
  double constant = 0.0;
  for (const Term& term : terms_)
    if (term.kind == TermKind::constant) constant += term.variance;
  for (std::size_t k = 0; k < count; ++k)
    std::fill(out + k * n_ + from, out + (k + 1) * n_, constant);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    if (term.X != nullptr)
      add_features(term, norms_[t], rows, count, from, out);
    else if (term.has_profile())
      for (std::size_t k = 0; k < count; ++k)
        add_profile(term.profile(), term.D + static_cast<std::size_t>(rows[k]) * n_ + from, term.scale, term.variance,
                    out + k * n_ + from, n_ - from);
  }
  for (std::size_t k = 0; k < count; ++k)
    if (static_cast<std::size_t>(rows[k]) >= from)
      out[k * n_ + static_cast<std::size_t>(rows[k])] = diagonal_[static_cast<std::size_t>(rows[k])];
}

void Covariance::add_features(const Term& term, const std::vector<double>& norms, const std::int64_t* rows,
                              std::size_t count, std::size_t from, double* out) const {
  const std::size_t width = n_ - from;
  if (count == 0 || width == 0) return;
  const std::vector<double> features = gathered(term.X, term.d, rows, count);
  const Block inner(count * width);
  gemm_transposed(lapack_, term.X + from * term.d, term.d, features.data(), term.d, inner.get(), width, width, count,
                  term.d);
  for (std::size_t k = 0; k < count; ++k) {
    double *row = inner.get() + k * width, *to = out + k * n_ + from;
    if (term.kind == TermKind::linear) {
      for (std::size_t j = 0; j < width; ++j)
        to[j] += row[j];
      continue;
    }
    distances_from_inner(row, norms[static_cast<std::size_t>(rows[k])], norms.data() + from, rounding(term.d), width);
    add_profile(term.profile(), row, 1.0, term.variance, to, width);
  }
}

std::vector<double> Covariance::pullback(const std::int64_t* rows, std::size_t m, const double* Q) const {
  std::size_t size = 0;
  for (const Term& term : terms_)
    size += term.count();
  std::vector<double> gradients(size, 0.0);
  if (m == 0) return gradients;
  double* out = gradients.data();
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    if (term.kind == TermKind::constant)
      *out = term.variance * total(Q, m * m);
    else if (term.kind == TermKind::linear)
      quadratic_forms(term, gathered(term.X, term.d, rows, m), m, Q, out, nullptr);
    else
      stationary(term, norms_[t], rows, m, Q, out);
    out += term.count();
  }
  return gradients;
}

// out[l] = x_l' A x_l for the columns x_l of the features and a symmetric A, by rows up to the diagonal; sums: A 1, if
// asked for.
void Covariance::quadratic_forms(const Term& term, const std::vector<double>& features, std::size_t m, const double* A,
                                 double* out, double* sums) const {
  const std::size_t columns = term.d + (sums == nullptr ? 0 : 1);
  std::vector<double> X(m * columns, 1.0), Y(m * columns); // one column after the other
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t l = 0; l < term.d; ++l)
      X[l * m + k] = features[k * term.d + l];
  symm_upper(lapack_, A, X.data(), Y.data(), m, columns);
  for (std::size_t l = 0; l < term.d; ++l) {
    out[l] = 0.0;
    for (std::size_t k = 0; k < m; ++k)
      out[l] += X[l * m + k] * Y[l * m + k];
  }
  if (sums != nullptr) std::copy_n(Y.data() + term.d * m, m, sums);
}

// With k = v phi(r^2): dk / dlog v = k, and dk / dlog l_l = -2 v phi'(r^2) (x_l - z_l)^2 / l_l^2.
void Covariance::stationary(const Term& term, const std::vector<double>& norms, const std::int64_t* rows, std::size_t m,
                            const double* Q, double* out) const {
  const bool of_features = term.D == nullptr;
  const std::vector<double> features = of_features ? gathered(term.X, term.d, rows, m) : std::vector<double>();
  const Block memory(of_features ? m * m : 1); // inner products, then Q phi'
  double* const A = memory.get();
  for (std::size_t top = 0; of_features && top < m; top += kTogether) { // up to the diagonal, or a little beyond it
    const std::size_t bottom = std::min(top + kTogether, m);
    gemm_transposed(lapack_, features.data(), term.d, features.data() + top * term.d, term.d, A + top * m, m, bottom,
                    bottom - top, term.d);
  }
  std::vector<double> r2(m), value(m), slope(m), own(of_features ? m : 0);
  for (std::size_t k = 0; k < own.size(); ++k)
    own[k] = norms[static_cast<std::size_t>(rows[k])];
  double height = 0.0, stretch = 0.0;
  for (std::size_t k = 0; k < m; ++k) {
    if (of_features) {
      std::copy_n(A + k * m, k, r2.data());
      distances_from_inner(r2.data(), own[k], own.data(), rounding(term.d), k);
    } else {
      const double* row = term.D + static_cast<std::size_t>(rows[k]) * n_;
      for (std::size_t l = 0; l < k; ++l)
        r2[l] = term.scale * row[rows[l]];
    }
    profile_and_slope(term.profile(), r2.data(), value.data(), slope.data(), k);
    const auto [across, along] = weighted(Q + k * m, value.data(), slope.data(), r2.data(), k);
    height += 2.0 * across + Q[k * m + k];
    stretch += 2.0 * along;
    if (of_features) {
      std::copy_n(slope.data(), k, A + k * m);
      A[k * m + k] = 0.0; // (x_l - z_l)^2 = 0
    }
  }
  out[0] = term.variance * height;
  if (!of_features) {
    out[1] = -2.0 * term.variance * stretch;
    return;
  }
  std::vector<double> sums(m);
  quadratic_forms(term, features, m, A, out + 1, sums.data());
  for (std::size_t l = 0; l < term.d; ++l) {
    double squares = 0.0;
    for (std::size_t k = 0; k < m; ++k)
      squares += features[k * term.d + l] * features[k * term.d + l] * sums[k];
    out[1 + l] = -4.0 * term.variance * (squares - out[1 + l]);
  }
}

} // namespace bayesvm::gram
