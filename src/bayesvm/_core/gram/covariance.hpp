// Covariances of training inputs as a sum of terms: some rows at a time, and derivatives in the terms' parameters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../exponentials.hpp"
#include "../lapack.hpp"

namespace bayesvm::gram {

enum class TermKind { constant, linear, gaussian, exponential, matern32, matern52 };

// One term. Constant: its variance. Linear: inner products of the features, which bear the roots of their variances.
// The others: variance times a profile of r^2, which is scale * D for given squared distances (n x n), or the squared
// distance of features that were divided by their length scales. Features are n rows of d numbers.
struct Term {
  TermKind kind;
  double variance;
  double scale;
  const double* D;
  const double* X;
  std::size_t d;

  bool has_profile() const { return kind != TermKind::constant && kind != TermKind::linear; }
  Profile profile() const;
  // How many derivatives it has: the variance (of every feature, if linear), and that of the length scales.
  std::size_t count() const;
};

class Covariance {
public:
  Covariance(const Lapack& lapack, std::vector<Term> terms, std::size_t n);

  std::size_t size() const { return n_; }
  double diagonal(std::size_t i) const { return diagonal_[i]; }

  // Rows of the matrix, from column `from` on: out[k * n + j] for j >= from.
  void fill(const std::int64_t* rows, std::size_t count, std::size_t from, double* out) const;

  // Derivatives of sum_kl Q_kl K(rows_k, rows_l), Q symmetric (m x m), in the logarithms of the parameters of all
  // terms.
  std::vector<double> pullback(const std::int64_t* rows, std::size_t m, const double* Q) const;

private:
  const Lapack& lapack_;
  std::vector<Term> terms_;
  std::vector<std::vector<double>> norms_; // of the features of every term
  std::size_t n_;
  std::vector<double> diagonal_;

  void add_features(const Term& term, const std::vector<double>& norms, const std::int64_t* rows, std::size_t count,
                    std::size_t from, double* out) const;
  void quadratic_forms(const Term& term, const std::vector<double>& features, std::size_t m, const double* A,
                       double* out, double* sums) const;
  void stationary(const Term& term, const std::vector<double>& norms, const std::int64_t* rows, std::size_t m,
                  const double* Q, double* out) const;
};

} // namespace bayesvm::gram
