// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "../arrays.hpp"
#include "../capsules.hpp"
#include "../gram/given.hpp"
#include "../interrupts.hpp"
#include "laplace.hpp"
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
  gram::Rows rows(K.data(), n);
  const mode::Problem problem{
      rows, y.data(), n, loss, weighted ? weights.data() : nullptr, weighted ? copies.data() : nullptr};
  mode::Result result;
  {
    nb::gil_scoped_release release;
    result = mode::newton(lapack, problem, warm ? start.data() : nullptr, {tol, max_iter, let_interrupts_in});
  }
  const mode::Point& p = result.point;
  return nb::make_tuple(result.ending, result.order, result.n_iter, p.objective, p.kkt, copied(p.f), copied(p.loss),
                        copied(p.gradient), copied(p.curvature), copied(p.third));
}

nb::tuple laplace(nb::list given, ConstVector y, mode::LossKind kind, std::vector<double> parameters,
                  ConstVector weights, ConstVector copies, ConstVector start, double tol, int max_iter) {
  const std::size_t n = y.shape(0);
  const bool weighted = weights.shape(0) > 0, warm = start.shape(0) > 0;
  if (weighted) check_length(weights, n, "weights");
  if (weighted) check_length(copies, n, "copies");
  if (warm) check_length(start, n, "start");
  const mode::Loss loss = checked_loss(kind, std::move(parameters));
  std::vector<ConstMatrix> kept;
  std::vector<gram::Term> terms = gram::checked_terms(given, n, kept);
  mode::Evidence found;
  {
    nb::gil_scoped_release release;
    const gram::Covariance covariance(lapack, std::move(terms), n);
    const mode::Targets targets{y.data(), loss, weighted ? weights.data() : nullptr,
                                weighted ? copies.data() : nullptr};
    found =
        mode::laplace(lapack, covariance, targets, warm ? start.data() : nullptr, {tol, max_iter, let_interrupts_in});
  }
  const mode::Result& result = found.mode;
  const mode::Point& p = result.point;
  const std::size_t m = result.factor.order();
  const nb::tuple mode = nb::make_tuple(result.ending, result.order, result.n_iter, p.objective, p.kkt, copied(p.f),
                                        copied(p.loss), copied(p.gradient), copied(p.curvature), copied(p.third));
  if (result.ending == mode::Ending::not_positive_definite) return nb::make_tuple(mode);
  mode::Factor& factor = found.mode.factor;
  Block L = factor.taken_L();
  return nb::make_tuple(mode, copied(factor.support()), copied(factor.root()), handed(L, m * m), copied(found.var),
                        copied(found.rows), handed(found.dK, found.rows.size() * found.rows.size()),
                        copied(found.K_moved), copied(found.gradient));
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
  nb::enum_<gram::TermKind>(m, "TermKind")
      .value("CONSTANT", gram::TermKind::constant)
      .value("LINEAR", gram::TermKind::linear)
      .value("GAUSSIAN", gram::TermKind::gaussian)
      .value("EXPONENTIAL", gram::TermKind::exponential)
      .value("MATERN32", gram::TermKind::matern32)
      .value("MATERN52", gram::TermKind::matern52);
  m.def("laplace", &laplace, "terms"_a, "y"_a, "kind"_a, "parameters"_a, "weights"_a, "copies"_a, "start"_a, "tol"_a,
        "max_iter"_a,
        "Return (mode, support, root, L, var, rows, dK, K_moved, gradient) of Laplace's evidence, or (mode,) "
        "if a matrix could not be factored; mode is what newton returns.");
  m.def("newton", &newton, "K"_a, "y"_a, "kind"_a, "parameters"_a, "weights"_a, "copies"_a, "start"_a, "tol"_a,
        "max_iter"_a,
        "Return (ending, order, n_iter, objective, kkt, f, loss, gradient, curvature, third) of the mode.");
}
