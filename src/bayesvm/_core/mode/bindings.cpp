// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "../arrays.hpp"
#include "../capsules.hpp"
#include "newton.hpp"

using namespace bayesvm;
using nb::literals::operator""_a;

namespace {

Lapack lapack;

void use_lapack(const nb::dict& routines) {
  lapack = lapack_from(routines);
}

mode::Loss checked_loss(mode::LossKind kind, std::vector<double> parameters) {
  if (parameters.size() != mode::Loss::count(kind))
    throw std::invalid_argument("expected " + std::to_string(mode::Loss::count(kind)) + " parameters, found " +
                                std::to_string(parameters.size()));
  return {kind, std::move(parameters)};
}

NewVector copied(const std::vector<double>& values) {
  double* out = new double[values.size()];
  std::copy(values.begin(), values.end(), out);
  return NewVector(out, {values.size()}, owner(out));
}

NewMatrix derivatives(mode::LossKind kind, std::vector<double> parameters, ConstVector t) {
  const mode::Loss loss = checked_loss(kind, std::move(parameters));
  const std::size_t n = t.shape(0);
  double* out = new double[4 * n];
  for (std::size_t i = 0; i < n; ++i) {
    const mode::Derivatives d = loss.at(t.data()[i]);
    out[i] = d.loss;
    out[n + i] = d.gradient;
    out[2 * n + i] = d.curvature;
    out[3 * n + i] = d.third;
  }
  return NewMatrix(out, {4, n}, owner(out));
}

void check_length(const ConstVector& values, std::size_t n, const char* what) {
  if (values.shape(0) != n)
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(n) + " values, found " +
                                std::to_string(values.shape(0)));
}

nb::tuple newton(ConstMatrix K, ConstVector y, mode::LossKind kind, std::vector<double> parameters, ConstVector weights,
                 ConstVector copies, ConstVector start, double tol, int max_iter) {
  check_square(K.shape(0), K.shape(1));
  const std::size_t n = K.shape(0);
  check_length(y, n, "y");
  const bool weighted = weights.shape(0) > 0, warm = start.shape(0) > 0;
  if (weighted) check_length(weights, n, "weights");
  if (weighted) check_length(copies, n, "copies");
  if (warm) check_length(start, n, "start");
  const mode::Loss loss = checked_loss(kind, std::move(parameters));
  const mode::Problem problem{
      K.data(), y.data(), n, loss, weighted ? weights.data() : nullptr, weighted ? copies.data() : nullptr};
  mode::Result result;
  {
    nb::gil_scoped_release release;
    result = mode::newton(lapack, problem, warm ? start.data() : nullptr, tol, max_iter);
  }
  const mode::Point& p = result.point;
  return nb::make_tuple(result.ending, result.order, result.n_iter, p.objective, p.kkt, copied(p.f), copied(p.loss),
                        copied(p.gradient), copied(p.curvature), copied(p.third));
}

} // namespace

NB_MODULE(_mode, m) {
  m.doc() = "Native Newton for the mode; bayesvm.solvers.newton states the same in NumPy.";
  nb::enum_<mode::LossKind>(m, "LossKind")
      .value("TRIGONOMETRIC", mode::LossKind::trigonometric)
      .value("RAISED_COSINE", mode::LossKind::raised_cosine)
      .value("LOGISTIC", mode::LossKind::logistic)
      .value("SOFT_INSENSITIVE", mode::LossKind::soft_insensitive)
      .value("SMOOTH_INSENSITIVE", mode::LossKind::smooth_insensitive);
  nb::enum_<mode::Ending>(m, "Ending")
      .value("CONVERGED", mode::Ending::converged)
      .value("STALLED", mode::Ending::stalled)
      .value("MAX_ITER", mode::Ending::max_iter)
      .value("NOT_POSITIVE_DEFINITE", mode::Ending::not_positive_definite);
  m.def("use_lapack", &use_lapack, "routines"_a, "Take the routines of SciPy from their capsules; to be called once.");
  m.def("derivatives", &derivatives, "kind"_a, "parameters"_a, "t"_a,
        "Return the loss and its first three derivatives, one row each.");
  m.def("newton", &newton, "K"_a, "y"_a, "kind"_a, "parameters"_a, "weights"_a, "copies"_a, "start"_a, "tol"_a,
        "max_iter"_a,
        "Return (ending, order, n_iter, objective, kkt, f, loss, gradient, curvature, third) of the mode.");
}
