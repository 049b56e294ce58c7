// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../arrays.hpp"
#include "../capsules.hpp"
#include "../gram/given.hpp"
#include "../interrupts.hpp"
#include "../triangular.hpp"
#include "moments.hpp"
#include "posterior.hpp"
#include "propagation.hpp"

using namespace bayesvm;
using nb::literals::operator""_a;

namespace {

using FortranMatrix = nb::ndarray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

using Flags = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Lapack lapack;

void use_lapack(const nb::dict& routines) {
  lapack = lapack_from(routines);
}

template <class Value> struct Fresh {
  explicit Fresh(std::size_t size) : data(new Value[size]), keep(owner(data)) {}
  Value* data;
  nb::capsule keep;
};

NewVector vector(const Fresh<double>& fresh, std::size_t n) {
  return NewVector(fresh.data, {n}, fresh.keep);
}

NewMatrix fortran(const Reused& fresh, std::size_t n, std::size_t columns) {
  const std::size_t shape[2] = {n, columns};
  const std::int64_t strides[2] = {1, static_cast<std::int64_t>(n)};
  return NewMatrix(fresh.data, 2, shape, fresh.keep, strides);
}

NewMatrix fortran(const Reused& fresh, std::size_t n) {
  return fortran(fresh, n, n);
}

NewVector inverse_diagonal(FortranMatrix L) {
  check_square(L.shape(0), L.shape(1));
  const std::size_t n = L.shape(0);
  const Fresh<double> out(n);
  {
    nb::gil_scoped_release release;
    double* const inverse = buffers().take(n * n);
    std::copy(L.data(), L.data() + n * n, inverse);
    invert_lower(lapack, inverse, n, n);
    lower_column_squares(inverse, n, out.data);
    buffers().release(inverse);
  }
  return vector(out, n);
}

NewMatrix inverse(FortranMatrix L) {
  check_square(L.shape(0), L.shape(1));
  const std::size_t n = L.shape(0);
  const Reused out(n * n);
  {
    nb::gil_scoped_release release;
    std::copy(L.data(), L.data() + n * n, out.data);
    invert_lower(lapack, out.data, n, n);
    square_lower(lapack, out.data, n);
  }
  return fortran(out, n);
}

NewMatrix lower_solve(FortranMatrix L, FortranMatrix B, bool forward, bool backward) {
  check_square(L.shape(0), L.shape(1));
  const std::size_t n = L.shape(0), columns = B.shape(1);
  if (B.shape(0) != n)
    throw std::invalid_argument("expected " + std::to_string(n) + " rows, found " + std::to_string(B.shape(0)));
  const Reused out(n * columns);
  {
    nb::gil_scoped_release release;
    std::copy(B.data(), B.data() + n * columns, out.data);
    if (n > 0 && forward) trsm_lower(lapack, 'N', L.data(), n, out.data, columns);
    if (n > 0 && backward) trsm_lower(lapack, 'T', L.data(), n, out.data, columns);
  }
  return fortran(out, n, columns);
}

NewMatrix lower_square(FortranMatrix A) {
  check_square(A.shape(0), A.shape(1));
  const std::size_t n = A.shape(0);
  const Reused out(n * n);
  {
    nb::gil_scoped_release release;
    std::copy(A.data(), A.data() + n * n, out.data);
    square_lower(lapack, out.data, n);
  }
  return fortran(out, n);
}

nb::tuple response(FortranMatrix B_inverse, ConstVector root, ConstVector dtau, ConstVector pull) {
  check_square(B_inverse.shape(0), B_inverse.shape(1));
  const std::size_t m = B_inverse.shape(0);
  if (root.shape(0) != m || dtau.shape(0) != m || pull.shape(0) != m)
    throw std::invalid_argument("expected vectors of length " + std::to_string(m));
  const Fresh<double> dmean(m), dvar(m);
  {
    nb::gil_scoped_release release;
    sites::response(B_inverse.data(), m, root.data(), dtau.data(), pull.data(), dmean.data, dvar.data);
  }
  return nb::make_tuple(vector(dmean, m), vector(dvar, m));
}

nb::tuple site_posterior(ConstMatrix K, ConstVector tau, ConstVector nu) {
  check_square(K.shape(0), K.shape(1));
  const std::size_t n = K.shape(0);
  if (tau.shape(0) != n || nu.shape(0) != n)
    throw std::invalid_argument("expected one tau and one nu per row of K, found " + std::to_string(tau.shape(0)) +
                                " and " + std::to_string(nu.shape(0)) + " for " + std::to_string(n) + " rows");
  std::size_t m = 0;
  for (std::size_t i = 0; i < n; ++i)
    m += tau.data()[i] > 0.0;
  const Fresh<std::int64_t> support(m);
  const Fresh<double> root(m), alpha(n), mean(n), var(n), rest(n);
  const Reused L(m * m), inverse(m * m);
  sites::Results results{L.data, inverse.data, alpha.data, mean.data, var.data, rest.data, 0.0};
  int info = 0;
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0, k = 0; i < n; ++i)
      if (tau.data()[i] > 0.0) {
        support.data[k] = static_cast<std::int64_t>(i);
        root.data[k++] = std::sqrt(tau.data()[i]);
      }
    info = sites::posterior(lapack, K.data(), n, support.data, root.data, m, nu.data(), results);
  }
  return nb::make_tuple(info, NewNumbers(support.data, {m}, support.keep), vector(root, m), fortran(L, m),
                        fortran(inverse, m), results.log_det, vector(alpha, n), vector(mean, n), vector(var, n),
                        vector(rest, n));
}

// The numbers of n rows, null if there are none.
const double* optional(const ConstVector& values, std::size_t n, const char* name) {
  if (values.shape(0) == 0) return nullptr;
  check_length(values, n, name);
  return values.data();
}

NewMatrix tilted(sites::LabelKind kind, ConstVector mean, ConstVector var, ConstVector power) {
  const std::size_t n = mean.shape(0);
  check_length(var, n, "var");
  const double* const powers = optional(power, n, "power");
  const Fresh<double> out(3 * n);
  sites::moments(kind, mean.data(), var.data(), powers, n, out.data, out.data + n, out.data + 2 * n);
  return NewMatrix(out.data, {3, n}, out.keep);
}

// What the iterations are given: labels, weights, sites, which of them are frozen (null: none), limits.
struct Given {
  Given(const ConstVector& y, sites::LabelKind kind, const ConstVector& weights, const ConstVector& tau,
        const ConstVector& nu, const std::uint8_t* frozen, double tol, double drop, int max_iter, double settle = 0.0)
      : terms{y.data(), y.shape(0), kind, frozen, optional(weights, y.shape(0), "weights")},
        limits{tol, drop, max_iter, settle, let_interrupts_in} {
    check_length(tau, terms.n, "tau");
    check_length(nu, terms.n, "nu");
    start = {{tau.data(), tau.data() + terms.n}, {nu.data(), nu.data() + terms.n}};
  }
  sites::Terms terms;
  sites::Limits limits;
  sites::Sites start;
};

// What Python is told of the last sweep; nothing if the iteration is left to it.
nb::object told(sites::Propagated& found) {
  if (!found.converged) return nb::none();
  sites::Sweep& last = found.last;
  const std::size_t m = last.support.size();
  const sites::Marginals& q = last.marginals;
  const sites::Matched& matched = last.matched;
  return nb::make_tuple(found.n_iter, copied(last.sites.tau), copied(last.sites.nu), copied(last.support),
                        copied(last.root), handed(last.L, m * m), handed(last.inverse, m * m), copied(q.alpha),
                        copied(q.mean), copied(q.var), copied(q.rest), copied(matched.log_z), copied(matched.slope),
                        copied(matched.bend), copied(matched.image.tau), copied(matched.image.nu), matched.residual);
}

nb::object propagate(ConstMatrix K, ConstVector y, sites::LabelKind kind, ConstVector weights, ConstVector tau,
                     ConstVector nu, Flags frozen, double tol, double drop, int max_iter, double settle) {
  check_square(K.shape(0), K.shape(1));
  check_length(y, K.shape(0), "y");
  if (frozen.shape(0) != 0 && frozen.shape(0) != y.shape(0))
    throw std::invalid_argument("frozen: expected one value per row, or none");
  Given given(y, kind, weights, tau, nu, frozen.shape(0) == 0 ? nullptr : frozen.data(), tol, drop, max_iter, settle);
  sites::Propagated found;
  {
    nb::gil_scoped_release release;
    found = sites::propagate(lapack, K.data(), given.terms, std::move(given.start), given.limits);
  }
  return told(found);
}

nb::object evidence(nb::list covariance_terms, ConstVector y, sites::LabelKind kind, ConstVector weights,
                    ConstVector tau, ConstVector nu, double tol, double drop, int max_iter) {
  Given given(y, kind, weights, tau, nu, nullptr, tol, drop, max_iter);
  std::vector<ConstMatrix> kept;
  std::vector<gram::Term> terms = gram::checked_terms(covariance_terms, given.terms.n, kept);
  sites::Evidence found;
  {
    nb::gil_scoped_release release;
    const gram::Covariance covariance(lapack, std::move(terms), given.terms.n);
    found = sites::evidence(lapack, covariance, given.terms, std::move(given.start), given.limits);
  }
  const nb::object last = told(found.found);
  if (last.is_none()) return last;
  const std::size_t m = found.found.last.support.size();
  return nb::make_tuple(last, handed(found.dK, m * m), copied(found.gradient));
}

} // namespace

NB_MODULE(_sites, m) {
  m.doc() = "Native linear algebra of Gaussian sites; bayesvm._core.sites.reference states the same in NumPy.";
  nb::enum_<sites::LabelKind>(m, "LabelKind")
      .value("TRIGONOMETRIC", sites::LabelKind::trigonometric)
      .value("RAISED_COSINE", sites::LabelKind::raised_cosine)
      .value("LOGISTIC", sites::LabelKind::logistic)
      .value("PROBIT", sites::LabelKind::probit);
  m.def("use_lapack", &use_lapack, "routines"_a, "Take the routines of SciPy from their capsules; to be called once.");
  m.def("inverse_diagonal", &inverse_diagonal, "L"_a, "Return the diagonal of (L L')^-1 for a lower triangular L.");
  m.def("inverse", &inverse, "L"_a, "Return (L L')^-1 for a lower triangular L.");
  m.def("lower_solve", &lower_solve, "L"_a, "B"_a, "forward"_a, "backward"_a,
        "Return L^-1 B, L^-T B or (L L')^-1 B for a lower triangular L.");
  m.def("lower_square", &lower_square, "A"_a, "Return A' A for a lower triangular A.");
  m.def("response", &response, "B_inverse"_a, "root"_a, "dtau"_a, "pull"_a,
        "Return the first-order changes of means and variances on the support as the sites change.");
  m.def(
      "site_posterior", &site_posterior, "K"_a, "tau"_a, "nu"_a,
      "Return (info, support, root, L, L^-1, log_det, alpha, mean, var, rest) of the posterior under Gaussian sites.");
  m.def("tilted", &tilted, "kind"_a, "mean"_a, "var"_a, "power"_a,
        "Return ln Z of the tilted distributions of margins and its first two derivatives in the mean, one row each; "
        "powers of the probability, from zero to one, or none.");
  m.def("propagate", &propagate, "K"_a, "y"_a, "kind"_a, "weights"_a, "tau"_a, "nu"_a, "frozen"_a, "tol"_a, "drop"_a,
        "max_iter"_a, "settle"_a,
        "Return (n_iter, tau, nu, support, root, L, L^-1, alpha, mean, var, rest, log_z, slope, bend, image of tau, "
        "image of nu, residual) at the fixed point of expectation propagation, None if it was not found. From alpha "
        "on, what is predicted for moments that match to settle, if that is positive and tol is rough.");
  m.def("evidence", &evidence, "terms"_a, "y"_a, "kind"_a, "weights"_a, "tau"_a, "nu"_a, "tol"_a, "drop"_a,
        "max_iter"_a,
        "Return (what propagate returns, with B^-1 in place of L^-1, dK, gradient) of the log evidence, or None.");
}
