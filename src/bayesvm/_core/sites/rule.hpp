// The rule of Gauss and Legendre on (-1, 1), and panels that it is laid over.
#pragma once
#include <cstddef>

namespace bayesvm::sites {

constexpr std::size_t kNodes = 40;
// Half-width, in standard deviations, up to which the rule resolves a Gaussian.
constexpr double kWidth = 8.0;
// Standard deviations beyond which a Gaussian does not count.
constexpr double kReach = 8.246211251235321;

// Its nodes are found by Newton's method; graded are those of (0, 1) to the sixth power, with the weights that belong
// to them: they resolve any power of the distance from zero.
struct Rule {
  double node[kNodes], weight[kNodes], graded[kNodes], graded_weight[kNodes];
  Rule();
};

const Rule& rule();

// Where an integrand is evaluated, and with which weights.
template <std::size_t most> struct Nodes {
  double at[most * kNodes], weight[most * kNodes];
  std::size_t count = 0;

  void add(double low, double high) {
    const double half = 0.5 * (high - low), middle = low + half;
    for (std::size_t k = 0; k < kNodes; ++k, ++count) {
      at[count] = middle + half * rule().node[k];
      weight[count] = half * rule().weight[k];
    }
  }

  // The same with graded nodes next to low, where the integrand is a power of the distance from there.
  void add_graded(double low, double high) {
    constexpr double kNear = 0.125; // part of the width that has graded nodes
    const double width = kNear * (high - low);
    for (std::size_t k = 0; k < kNodes; ++k, ++count) {
      at[count] = low + width * rule().graded[k];
      weight[count] = width * rule().graded_weight[k];
    }
    add(low + width, high);
  }
};

} // namespace bayesvm::sites
