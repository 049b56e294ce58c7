// Cholesky factor of B = I + W^1/2 K W^1/2 on the support, the points with curvature W > 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../buffers.hpp"
#include "../gram/rows.hpp"
#include "../lapack.hpp"

namespace bayesvm::mode {

struct NotPositiveDefinite {
  std::size_t order;
};

class Factor {
public:
  Factor() = default;
  // Throws NotPositiveDefinite.
  Factor(const Lapack& lapack, gram::Rows& K, const std::vector<double>& curvature);

  std::size_t order() const { return support_.size(); }
  const std::vector<std::int64_t>& support() const { return support_; }
  const std::vector<double>& root() const { return root_; }
  const double* L() const { return L_.get(); }
  // Whether it is that of the given curvature.
  bool is_of(const std::vector<double>& curvature) const { return curvature_ == curvature; }
  // Hand over the memory of L.
  Block taken_L() { return std::move(L_); }

  // R x for x on the support, R = W^1/2 B^-1 W^1/2, in place.
  void apply(const Lapack& lapack, std::vector<double>& x) const;
  // -(I + W K)^-1 r, given r and K r. The support stands at the given places.
  std::vector<double> direction(const Lapack& lapack, const std::vector<std::int64_t>& support,
                                const std::vector<double>& residual, const std::vector<double>& K_residual) const;

private:
  std::vector<std::int64_t> support_;
  std::vector<double> root_, curvature_;
  Block L_;
};

} // namespace bayesvm::mode
