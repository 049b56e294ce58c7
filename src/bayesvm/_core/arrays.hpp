// What the binding layers share: types of arrays, and checks that name what was expected and found.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>

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
