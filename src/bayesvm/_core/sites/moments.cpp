#include "moments.hpp"

#include "compact_sigmoid.hpp"
#include "line_sigmoid.hpp"

namespace bayesvm::sites {
namespace {

bool compact(LabelKind kind) {
  return kind == LabelKind::trigonometric || kind == LabelKind::raised_cosine;
}

const CompactSigmoid& compact_sigmoid(LabelKind kind) {
  static const CompactSigmoid trigonometric(LabelKind::trigonometric), raised_cosine(LabelKind::raised_cosine);
  return kind == LabelKind::trigonometric ? trigonometric : raised_cosine;
}

Moment moment(LabelKind kind, double mean, double var, double power) {
  if (!(power > 0.0)) return {0.0, 0.0, 0.0};
  return compact(kind) ? compact_sigmoid(kind).to_power(mean, var, power) : line_sigmoid(kind, mean, var, power);
}

} // namespace

void moments(LabelKind kind, const double* mean, const double* var, const double* power, std::size_t n, double* log_z,
             double* slope, double* bend) {
  if (compact(kind) && power == nullptr) {
    compact_sigmoid(kind).at(mean, var, n, log_z, slope, bend);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const Moment found = moment(kind, mean[i], var[i], power == nullptr ? 1.0 : power[i]);
    log_z[i] = found.log_z, slope[i] = found.slope, bend[i] = found.bend;
  }
}

} // namespace bayesvm::sites
