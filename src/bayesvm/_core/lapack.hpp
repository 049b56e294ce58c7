// The routines of BLAS and LAPACK that native code calls: those of SciPy, handed over once by Python as the capsules of
// scipy.linalg.cython_blas and cython_lapack, so that there is no second BLAS in the process. Matrices are
// column-major.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>

namespace bayesvm {

struct Lapack {
  using Potrf = void(char*, int*, double*, int*, int*);
  using Trsv = void(char*, char*, char*, int*, double*, int*, double*, int*);
  using Lauum = void(char*, int*, double*, int*, int*);
  using Trmm = void(char*, char*, char*, char*, int*, int*, double*, double*, int*, double*, int*);
  using Trsm = void(char*, char*, char*, char*, int*, int*, double*, double*, int*, double*, int*);
  using Symv = void(char*, int*, double*, double*, int*, double*, int*, double*, double*, int*);

  using Gemm = void(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
  using Symm = void(char*, char*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);

  Potrf* potrf = nullptr;
  Trsv* trsv = nullptr;
  Lauum* lauum = nullptr;
  Trmm* trmm = nullptr;
  Trsm* trsm = nullptr;
  Symv* symv = nullptr;
  Gemm* gemm = nullptr;
  Symm* symm = nullptr;
};

inline int as_int(std::size_t n) {
  return static_cast<int>(n);
}

// Lower Cholesky factor in place; returns LAPACK's info, zero on success.
inline int potrf_lower(const Lapack& lapack, double* A, std::size_t n) {
  char lower = 'L';
  int size = as_int(n), info = 0;
  lapack.potrf(&lower, &size, A, &size, &info);
  return info;
}

// x = (L L')^-1 x for one right-hand side; potrs is made for many, and takes twice as long.
inline void solve_lower(const Lapack& lapack, const double* L, std::size_t n, double* x) {
  char lower = 'L', plain = 'N', transposed = 'T';
  int size = as_int(n), one = 1;
  lapack.trsv(&lower, &plain, &plain, &size, const_cast<double*>(L), &size, x, &one);
  lapack.trsv(&lower, &transposed, &plain, &size, const_cast<double*>(L), &size, x, &one);
}

// B (n x columns) = L^-1 B for 'N', L^-T B for 'T'.
inline void trsm_lower(const Lapack& lapack, char transposition, const double* L, std::size_t n, double* B,
                       std::size_t columns) {
  char left = 'L', lower = 'L', plain = 'N';
  int size = as_int(n), count = as_int(columns);
  double unit = 1.0;
  lapack.trsm(&left, &lower, &transposition, &plain, &size, &count, &unit, const_cast<double*>(L), &size, B, &size);
}

// The lower triangle of A' A for a lower triangular A, in place.
inline void lauum_lower(const Lapack& lapack, double* A, std::size_t n) {
  char lower = 'L';
  int size = as_int(n), info = 0;
  lapack.lauum(&lower, &size, A, &size, &info);
}

// B (rows x columns) = scale * A B or scale * B A for a lower triangular A.
inline void trmm_lower(const Lapack& lapack, char side, double scale, const double* A, std::size_t lda, double* B,
                       std::size_t ldb, std::size_t rows, std::size_t columns) {
  char lower = 'L', plain = 'N';
  int m = as_int(rows), n = as_int(columns), a = as_int(lda), b = as_int(ldb);
  lapack.trmm(&side, &lower, &plain, &plain, &m, &n, &scale, const_cast<double*>(A), &a, B, &b);
}

// C (rows x columns) = A' B for A (inner x rows) and B (inner x columns).
inline void gemm_transposed(const Lapack& lapack, const double* A, std::size_t lda, const double* B, std::size_t ldb,
                            double* C, std::size_t ldc, std::size_t rows, std::size_t columns, std::size_t inner) {
  char transposed = 'T', plain = 'N';
  int m = as_int(rows), n = as_int(columns), k = as_int(inner), a = as_int(lda), b = as_int(ldb), c = as_int(ldc);
  double unit = 1.0, zero = 0.0;
  lapack.gemm(&transposed, &plain, &m, &n, &k, &unit, const_cast<double*>(A), &a, const_cast<double*>(B), &b, &zero, C,
              &c);
}

// C = A B (rows x columns) for a symmetric A of which the upper triangle is read.
inline void symm_upper(const Lapack& lapack, const double* A, const double* B, double* C, std::size_t rows,
                       std::size_t columns) {
  char left = 'L', upper = 'U';
  int m = as_int(rows), n = as_int(columns);
  double unit = 1.0, zero = 0.0;
  lapack.symm(&left, &upper, &m, &n, &unit, const_cast<double*>(A), &m, const_cast<double*>(B), &m, &zero, C, &m);
}

// out = A x for a symmetric A.
inline void symv_lower(const Lapack& lapack, const double* A, std::size_t n, const double* x, double* out) {
  char lower = 'L';
  int size = as_int(n), one = 1;
  double unit = 1.0, zero = 0.0;
  lapack.symv(&lower, &size, &unit, const_cast<double*>(A), &size, const_cast<double*>(x), &one, &zero, out, &one);
}

} // namespace bayesvm
