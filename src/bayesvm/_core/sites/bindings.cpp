// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "../arrays.hpp"
#include "../capsules.hpp"
#include "../triangular.hpp"
#include "posterior.hpp"

using namespace bayesvm;
using nb::literals::operator""_a;

namespace {

using FortranMatrix = nb::ndarray<const double, nb::ndim<2>, nb::f_contig, nb::device::cpu>;

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

NewMatrix fortran(const Reused& fresh, std::size_t n) {
  const std::size_t shape[2] = {n, n};
  const std::int64_t strides[2] = {1, static_cast<std::int64_t>(n)};
  return NewMatrix(fresh.data, 2, shape, fresh.keep, strides);
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

} // namespace

NB_MODULE(_sites, m) {
  m.doc() = "Native linear algebra of Gaussian sites; bayesvm._core.sites.reference states the same in NumPy.";
  m.def("use_lapack", &use_lapack, "routines"_a, "Take the routines of SciPy from their capsules; to be called once.");
  m.def("inverse_diagonal", &inverse_diagonal, "L"_a, "Return the diagonal of (L L')^-1 for a lower triangular L.");
  m.def("inverse", &inverse, "L"_a, "Return (L L')^-1 for a lower triangular L.");
  m.def("lower_square", &lower_square, "A"_a, "Return A' A for a lower triangular A.");
  m.def("response", &response, "B_inverse"_a, "root"_a, "dtau"_a, "pull"_a,
        "Return the first-order changes of means and variances on the support as the sites change.");
  m.def(
      "site_posterior", &site_posterior, "K"_a, "tau"_a, "nu"_a,
      "Return (info, support, root, L, L^-1, log_det, alpha, mean, var, rest) of the posterior under Gaussian sites.");
}
