#include "factor.hpp"

#include <cmath>

#include "../gram/loops.hpp"

namespace bayesvm::mode {

Factor::Factor(const Lapack& lapack, gram::Rows& K, const std::vector<double>& curvature) : curvature_(curvature) {
  for (std::size_t i = 0; i < curvature.size(); ++i)
    if (curvature[i] > 0.0) {
      support_.push_back(static_cast<std::int64_t>(i));
      root_.push_back(std::sqrt(curvature[i]));
    }
  const std::size_t m = support_.size();
  K.need(support_);
  L_ = Block(m * m);
  double* const L = L_.get();
  gram::scaled_block(K.at(support_).data(), support_.data(), root_.data(), m, L);
  if (m == 0) return;
  bool good = potrf_lower(lapack, L, m) == 0;
  for (std::size_t k = 0; k < m && good; ++k)
    good = std::isfinite(L[k * m + k]);
  if (!good) throw NotPositiveDefinite{m};
}

void Factor::apply(const Lapack& lapack, std::vector<double>& x) const {
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] *= root_[k];
  if (!x.empty()) solve_lower(lapack, L_.get(), x.size(), x.data());
  for (std::size_t k = 0; k < x.size(); ++k)
    x[k] *= root_[k];
}

std::vector<double> Factor::direction(const Lapack& lapack, const std::vector<std::int64_t>& support,
                                      const std::vector<double>& residual,
                                      const std::vector<double>& K_residual) const {
  std::vector<double> part(order()), out(residual.size());
  for (std::size_t k = 0; k < part.size(); ++k)
    part[k] = K_residual[static_cast<std::size_t>(support[k])];
  apply(lapack, part);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = -residual[i];
  for (std::size_t k = 0; k < part.size(); ++k)
    out[static_cast<std::size_t>(support[k])] += part[k];
  return out;
}

} // namespace bayesvm::mode
