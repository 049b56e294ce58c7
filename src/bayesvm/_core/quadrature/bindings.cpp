// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "../arrays.hpp"
#include "rules.hpp"

using namespace bayesvm;
using nb::literals::operator""_a;

namespace {

NewMatrix fixed_rule(ConstMatrix values, ConstVector x, ConstVector mean, ConstVector scale, std::size_t moments) {
  if (values.shape(0) == 0 || values.shape(1) != x.shape(0) || mean.shape(0) != scale.shape(0))
    throw std::invalid_argument("expected functions at " + std::to_string(x.shape(0)) + " nodes and as many scales as " +
                                std::to_string(mean.shape(0)) + " means, found " + std::to_string(values.shape(0)) +
                                " x " + std::to_string(values.shape(1)) + " and " + std::to_string(scale.shape(0)));
  const std::size_t rows = values.shape(0) + moments, n = mean.shape(0);
  double* out = new double[rows * n];
  nb::capsule keep = owner(out);
  {
    nb::gil_scoped_release release;
    quadrature::fixed_rule(values.data(), values.shape(0), x.data(), x.shape(0), mean.data(), scale.data(), n, moments,
                           out);
  }
  return NewMatrix(out, {rows, n}, keep);
}

} // namespace

NB_MODULE(_quadrature, m) {
  m.doc() = "Native quadrature of bayesvm; bayesvm._core.quadrature.reference states the same in NumPy.";
  m.def("fixed_rule", &fixed_rule, "values"_a, "x"_a, "mean"_a, "scale"_a, "moments"_a,
        "Return Gaussian integrals by nodes that all samples share.");
}
