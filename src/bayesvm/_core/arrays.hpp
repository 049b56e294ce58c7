// What the binding layers share: types of arrays, and checks that name what was expected and found.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "buffers.hpp"

namespace bayesvm {

namespace nb = nanobind;

using ConstMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstVector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ConstNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using NewVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NewNumbers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

// Deletes an array of Values when Python lets go of it.
template <class Value> nb::capsule owner(Value* data) {
  return nb::capsule(data, [](void* p) noexcept { delete[] static_cast<Value*>(p); });
}

// Doubles in memory that is used again when Python lets go of them.
struct Reused {
  explicit Reused(std::size_t size)
      : data(buffers().take(size)), keep(data, [](void* p) noexcept { buffers().release(static_cast<double*>(p)); }) {}
  double* data;
  nb::capsule keep;
};

// A copy of values for Python.
template <class Value> nb::ndarray<nb::numpy, Value, nb::ndim<1>> copied(const std::vector<Value>& values) {
  Value* out = new Value[values.size()];
  std::copy(values.begin(), values.end(), out);
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>>(out, {values.size()}, owner(out));
}

// A block that Python gives back when it lets go of it.
inline NewVector handed(Block& block, std::size_t size) {
  double* const data = block.handed_over();
  nb::capsule keep(data, [](void* p) noexcept { buffers().release(static_cast<double*>(p)); });
  return NewVector(data, {size}, keep);
}

inline void check_length(const ConstVector& values, std::size_t n, const char* what) {
  if (values.shape(0) != n)
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(n) + " values, found " +
                                std::to_string(values.shape(0)));
}

inline void check_square(std::size_t rows, std::size_t columns) {
  if (rows != columns)
    throw std::invalid_argument("expected a square matrix, found " + std::to_string(rows) + " x " +
                                std::to_string(columns));
}

inline void check_row_numbers(const ConstNumbers& rows, std::size_t limit) {
  for (std::size_t k = 0; k < rows.shape(0); ++k) {
    const std::int64_t row = rows.data()[k];
    if (row < 0 || static_cast<std::size_t>(row) >= limit)
      throw std::out_of_range("row number " + std::to_string(row) + " is outside 0.." + std::to_string(limit) +
                              " (exclusive)");
  }
}

} // namespace bayesvm
