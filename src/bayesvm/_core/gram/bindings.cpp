// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "../arrays.hpp"
#include "loops.hpp"

using namespace bayesvm;
using nb::literals::operator""_a;

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_rows(const ConstNumbers& rows, std::size_t values, std::size_t limit) {
  if (rows.shape(0) != values)
    throw std::invalid_argument("expected one value per row number, found " + std::to_string(values) + " and " +
                                std::to_string(rows.shape(0)));
  check_row_numbers(rows, limit);
}

void gaussian_from_inner(Matrix G, double variance) {
  check_square(G.shape(0), G.shape(1));
  nb::gil_scoped_release release;
  gram::gaussian_from_inner(G.data(), G.shape(0), variance);
}

NewMatrix gaussian_of_distances(ConstMatrix D, double scale, double variance, bool symmetric) {
  if (symmetric) check_square(D.shape(0), D.shape(1));
  const Reused out(D.shape(0) * D.shape(1));
  {
    nb::gil_scoped_release release;
    gram::gaussian_of_distances(D.data(), D.shape(0), D.shape(1), symmetric, scale, variance, out.data);
  }
  return NewMatrix(out.data, {D.shape(0), D.shape(1)}, out.keep);
}

NewVector rows_times(ConstMatrix K, ConstNumbers rows, ConstVector x) {
  check_rows(rows, x.shape(0), K.shape(0));
  double* out = new double[K.shape(1)];
  nb::capsule keep = owner(out);
  {
    nb::gil_scoped_release release;
    gram::rows_times(K.data(), K.shape(1), rows.data(), x.data(), x.shape(0), out);
  }
  return NewVector(out, {K.shape(1)}, keep);
}

NewMatrix scaled_block(ConstMatrix K, ConstNumbers rows, ConstVector root) {
  check_square(K.shape(0), K.shape(1));
  check_rows(rows, root.shape(0), K.shape(0));
  const std::size_t m = root.shape(0);
  const Reused out(m * m);
  {
    nb::gil_scoped_release release;
    gram::scaled_block(K.data(), K.shape(1), rows.data(), root.data(), m, out.data);
  }
  return NewMatrix(out.data, {m, m}, out.keep);
}

} // namespace

NB_MODULE(_gram, m) {
  m.doc() = "Native loops of bayesvm; bayesvm._core.gram.reference states the same in NumPy.";
  m.def("gaussian_from_inner", &gaussian_from_inner, "G"_a.noconvert(), "variance"_a,
        "Turn inner products into variance * exp(-|x - z|^2 / 2), in place.");
  m.def("gaussian_of_distances", &gaussian_of_distances, "D"_a, "scale"_a, "variance"_a, "symmetric"_a,
        "Return variance * exp(-scale * D).");
  m.def("rows_times", &rows_times, "K"_a, "rows"_a, "x"_a, "Return x @ K[rows].");
  m.def("scaled_block", &scaled_block, "K"_a, "rows"_a, "root"_a,
        "Return the upper triangle of I + root root' * K[rows, rows].");
}
