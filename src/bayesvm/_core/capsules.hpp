// SciPy's routines from their capsules.
#pragma once
#include <nanobind/nanobind.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "lapack.hpp"

namespace bayesvm {

// The pointer in a capsule of scipy.linalg.cython_blas or cython_lapack, whose name is the signature of the function.
template <class Function> Function* routine(const nanobind::dict& routines, const char* name) {
  const nanobind::capsule capsule = nanobind::cast<nanobind::capsule>(routines[name]);
  if (std::strstr(capsule.name(), "int *") == nullptr)
    throw std::invalid_argument(std::string(name) + ": expected a routine with 32-bit sizes, found " + capsule.name());
  return reinterpret_cast<Function*>(capsule.data());
}

inline Lapack lapack_from(const nanobind::dict& routines) {
  Lapack lapack;
  lapack.potrf = routine<Lapack::Potrf>(routines, "dpotrf");
  lapack.trsv = routine<Lapack::Trsv>(routines, "dtrsv");
  lapack.lauum = routine<Lapack::Lauum>(routines, "dlauum");
  lapack.trmm = routine<Lapack::Trmm>(routines, "dtrmm");
  lapack.trsm = routine<Lapack::Trsm>(routines, "dtrsm");
  lapack.symv = routine<Lapack::Symv>(routines, "dsymv");
  lapack.gemm = routine<Lapack::Gemm>(routines, "dgemm");
  lapack.symm = routine<Lapack::Symm>(routines, "dsymm");
  return lapack;
}

} // namespace bayesvm
