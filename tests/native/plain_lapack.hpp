// Plain stand-ins for the routines of BLAS and LAPACK that native code takes from SciPy, in the cases that it calls:
// lower triangles (upper ones of symm), unit strides. Column-major, like the originals.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

#include "../../src/bayesvm/_core/lapack.hpp"

namespace plain {

inline std::size_t at(int row, int column, const int* lda) {
  return static_cast<std::size_t>(row) + static_cast<std::size_t>(column) * static_cast<std::size_t>(*lda);
}

inline void gemv(char*, int* m, int* n, double*, double* A, int* lda, double* x, int*, double*, double* y, int*) {
  for (int r = 0; r < *m; ++r) {
    y[r] = 0.0;
    for (int c = 0; c < *n; ++c)
      y[r] += A[at(r, c, lda)] * x[c];
  }
}

inline void gemm(char* transposed, char*, int* m, int* n, int* k, double*, double* A, int* lda, double* B, int* ldb,
                 double*, double* C, int* ldc) {
  for (int c = 0; c < *n; ++c)
    for (int r = 0; r < *m; ++r) {
      double sum = 0.0;
      for (int i = 0; i < *k; ++i)
        sum += A[*transposed == 'T' ? at(i, r, lda) : at(r, i, lda)] * B[at(i, c, ldb)];
      C[at(r, c, ldc)] = sum;
    }
}

inline void symm(char*, char* triangle, int* m, int* n, double*, double* A, int* lda, double* B, int* ldb, double*,
                 double* C, int* ldc) {
  const bool upper = *triangle == 'U';
  for (int c = 0; c < *n; ++c)
    for (int r = 0; r < *m; ++r) {
      double sum = 0.0;
      for (int i = 0; i < *m; ++i)
        sum += A[(r <= i) == upper ? at(r, i, lda) : at(i, r, lda)] * B[at(i, c, ldb)];
      C[at(r, c, ldc)] = sum;
    }
}

inline void symv(char*, int* n, double* alpha, double* A, int* lda, double* x, int*, double*, double* y, int*) {
  for (int r = 0; r < *n; ++r) {
    y[r] = 0.0;
    for (int c = 0; c < *n; ++c)
      y[r] += *alpha * A[r >= c ? at(r, c, lda) : at(c, r, lda)] * x[c];
  }
}

inline void potrf(char*, int* n, double* A, int* lda, int* info) {
  *info = 0;
  for (int c = 0; c < *n; ++c) {
    double pivot = A[at(c, c, lda)];
    for (int k = 0; k < c; ++k)
      pivot -= A[at(c, k, lda)] * A[at(c, k, lda)];
    if (!(pivot > 0.0)) { // also where it is not a number
      *info = c + 1;
      return;
    }
    A[at(c, c, lda)] = std::sqrt(pivot);
    for (int r = c + 1; r < *n; ++r) {
      for (int k = 0; k < c; ++k)
        A[at(r, c, lda)] -= A[at(r, k, lda)] * A[at(c, k, lda)];
      A[at(r, c, lda)] /= A[at(c, c, lda)];
    }
  }
}

inline void trsv(char*, char* transposed, char*, int* n, double* A, int* lda, double* x, int*) {
  if (*transposed == 'N')
    for (int r = 0; r < *n; ++r) {
      for (int k = 0; k < r; ++k)
        x[r] -= A[at(r, k, lda)] * x[k];
      x[r] /= A[at(r, r, lda)];
    }
  else
    for (int r = *n - 1; r >= 0; --r) {
      for (int k = r + 1; k < *n; ++k)
        x[r] -= A[at(k, r, lda)] * x[k];
      x[r] /= A[at(r, r, lda)];
    }
}

inline void lauum(char*, int* n, double* A, int* lda, int* info) {
  *info = 0;
  for (int c = 0; c < *n; ++c)
    for (int r = c; r < *n; ++r) {
      double sum = 0.0;
      for (int k = r; k < *n; ++k)
        sum += A[at(k, r, lda)] * A[at(k, c, lda)];
      A[at(r, c, lda)] = sum;
    }
}

inline void trmm(char* side, char*, char*, char*, int* m, int* n, double* alpha, double* A, int* lda, double* B,
                 int* ldb) {
  std::vector<double> out(static_cast<std::size_t>(*m) * static_cast<std::size_t>(*n), 0.0);
  for (int r = 0; r < *m; ++r)
    for (int c = 0; c < *n; ++c)
      if (*side == 'L')
        for (int k = 0; k <= r; ++k)
          out[at(r, c, m)] += A[at(r, k, lda)] * B[at(k, c, ldb)];
      else
        for (int k = c; k < *n; ++k)
          out[at(r, c, m)] += B[at(r, k, ldb)] * A[at(k, c, lda)];
  for (int c = 0; c < *n; ++c)
    for (int r = 0; r < *m; ++r)
      B[at(r, c, ldb)] = *alpha * out[at(r, c, m)];
}

inline void trsm(char*, char* triangle, char* transposed, char* unit, int* m, int* n, double*, double* A, int* lda,
                 double* B, int* ldb) {
  int one = 1;
  for (int c = 0; c < *n; ++c)
    trsv(triangle, transposed, unit, m, A, lda, B + at(0, c, ldb), &one);
}

inline bayesvm::Lapack lapack() {
  return {potrf, trsv, lauum, trmm, trsm, symv, gemm, symm};
}

} // namespace plain
