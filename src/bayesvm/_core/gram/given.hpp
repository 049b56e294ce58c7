// Terms of a covariance as Python gives them.
#pragma once
#include <utility>
#include <vector>

#include "../arrays.hpp"
#include "covariance.hpp"

namespace bayesvm::gram {

// A term as Python names it: kind, variance, scale, matrix, and whether that holds features, not squared distances.
inline Term checked_term(const nb::tuple& given, std::size_t n, std::vector<ConstMatrix>& kept) {
  Term term{nb::cast<TermKind>(given[0]), nb::cast<double>(given[1]), nb::cast<double>(given[2]), nullptr, nullptr, 0};
  if (term.kind == TermKind::constant) return term;
  const ConstMatrix matrix = nb::cast<ConstMatrix>(given[3]);
  const bool features = nb::cast<bool>(given[4]);
  if (matrix.shape(0) != n || (!features && matrix.shape(1) != n) || matrix.shape(1) == 0)
    throw std::invalid_argument("a term: expected " + std::to_string(n) + " rows of features, or squared distances, " +
                                "found " + std::to_string(matrix.shape(0)) + " x " + std::to_string(matrix.shape(1)));
  if (!features && term.kind == TermKind::linear)
    throw std::invalid_argument("a linear term: expected features, found squared distances");
  (features ? term.X : term.D) = matrix.data();
  term.d = features ? matrix.shape(1) : 0;
  kept.push_back(matrix);
  return term;
}

// The terms of a sum; what they point to is kept.
inline std::vector<Term> checked_terms(const nb::list& given, std::size_t n, std::vector<ConstMatrix>& kept) {
  std::vector<Term> terms;
  for (const nb::handle term : given)
    terms.push_back(checked_term(nb::cast<nb::tuple>(term), n, kept));
  return terms;
}

} // namespace bayesvm::gram
