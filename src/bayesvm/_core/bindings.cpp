// The binding layer checks shapes, releases the GIL and calls the core; nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gram.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using NewVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

nb::capsule owner(double* data) {
  return nb::capsule(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
}

void check_square(std::size_t rows, std::size_t columns) {
  if (rows != columns)
    throw std::invalid_argument("expected a square matrix, found " + std::to_string(rows) + " x " +
                                std::to_string(columns));
}

void check_rows(const Rows& rows, std::size_t values, std::size_t limit) {
  if (rows.shape(0) != values)
    throw std::invalid_argument("expected one value per row number, found " + std::to_string(values) + " and " +
                                std::to_string(rows.shape(0)));
  for (std::size_t i = 0; i < values; ++i)
    if (rows.data()[i] < 0 || static_cast<std::size_t>(rows.data()[i]) >= limit)
      throw std::out_of_range("row number " + std::to_string(rows.data()[i]) + " is outside 0.." +
                              std::to_string(limit) + " (exclusive)");
}

void gaussian_from_inner(Matrix G, double variance) {
  check_square(G.shape(0), G.shape(1));
  nb::gil_scoped_release release;
  bayesvm::gaussian_from_inner(G.data(), G.shape(0), variance);
}

NewMatrix gaussian_of_distances(ConstMatrix D, double scale, double variance, bool symmetric) {
  if (symmetric) check_square(D.shape(0), D.shape(1));
  double* out = new double[D.shape(0) * D.shape(1)];
  nb::capsule keep = owner(out);
  {
    nb::gil_scoped_release release;
    bayesvm::gaussian_of_distances(D.data(), D.shape(0), D.shape(1), symmetric, scale, variance, out);
  }
  return NewMatrix(out, {D.shape(0), D.shape(1)}, keep);
}

NewVector rows_times(ConstMatrix K, Rows rows, ConstVector x) {
  check_rows(rows, x.shape(0), K.shape(0));
  double* out = new double[K.shape(1)];
  nb::capsule keep = owner(out);
  {
    nb::gil_scoped_release release;
    bayesvm::rows_times(K.data(), K.shape(1), rows.data(), x.data(), x.shape(0), out);
  }
  return NewVector(out, {K.shape(1)}, keep);
}

NewMatrix scaled_block(ConstMatrix K, Rows rows, ConstVector root) {
  check_square(K.shape(0), K.shape(1));
  check_rows(rows, root.shape(0), K.shape(0));
  const std::size_t m = root.shape(0);
  double* out = new double[m * m];
  nb::capsule keep = owner(out);
  {
    nb::gil_scoped_release release;
    bayesvm::scaled_block(K.data(), K.shape(1), rows.data(), root.data(), m, out);
  }
  return NewMatrix(out, {m, m}, keep);
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "Native loops of bayesvm; bayesvm._core.reference states the same in NumPy.";
  m.def("gaussian_from_inner", &gaussian_from_inner, "G"_a.noconvert(), "variance"_a,
        "Turn inner products into variance * exp(-|x - z|^2 / 2), in place.");
  m.def("gaussian_of_distances", &gaussian_of_distances, "D"_a, "scale"_a, "variance"_a, "symmetric"_a,
        "Return variance * exp(-scale * D).");
  m.def("rows_times", &rows_times, "K"_a, "rows"_a, "x"_a, "Return x @ K[rows].");
  m.def("scaled_block", &scaled_block, "K"_a, "rows"_a, "root"_a,
        "Return the upper triangle of I + root root' * K[rows, rows].");
}
