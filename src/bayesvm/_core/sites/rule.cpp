#include "rule.hpp"

#include <cmath>

namespace bayesvm::sites {
namespace {

constexpr double kPi = 3.14159265358979323846264338327950288;
constexpr int kGrade = 6;

} // namespace

Rule::Rule() {
  for (std::size_t k = 0; k < kNodes; ++k) {
    double x = -std::cos(kPi * (static_cast<double>(k) + 0.75) / (kNodes + 0.5)), slope = 1.0;
    for (int step = 0; step < 10; ++step) {
      double last = 1.0, value = x;
      for (std::size_t j = 2; j <= kNodes; ++j) {
        const double order = static_cast<double>(j);
        const double next = ((2.0 * order - 1.0) * x * value - (order - 1.0) * last) / order;
        last = value;
        value = next;
      }
      slope = kNodes * (last - x * value) / (1.0 - x * x);
      x -= value / slope;
    }
    node[k] = x;
    weight[k] = 2.0 / ((1.0 - x * x) * slope * slope);
    const double share = 0.5 * (1.0 + x), power = std::pow(share, kGrade - 1);
    graded[k] = share * power;
    graded_weight[k] = 0.5 * weight[k] * kGrade * power;
  }
}

const Rule& rule() {
  static const Rule found;
  return found;
}

} // namespace bayesvm::sites
