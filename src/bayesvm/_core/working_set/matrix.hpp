// The seam between the solver and where the matrix K comes from: its size, its diagonal, its columns.
#pragma once
#include <vector>

#include "terms.hpp"

namespace bayesvm::working_set {

// A symmetric matrix that is asked for columns. Rows may be arranged in another order, so that the rows of interest
// come first; columns are always named by their original number.
class Matrix {
public:
  virtual ~Matrix() = default;
  virtual Index size() const = 0;
  virtual void diagonal(double* out) const = 0;

  // Entries at the positions first..last (exclusive) of the arranged rows, for `count` columns, one after the other in
  // out.
  virtual void columns(const Index* which, Index count, Index first, Index last, double* out) const = 0;

  void arrange(std::vector<Index> order) {
    order_ = std::move(order);
    arranged();
  }
  const std::vector<Index>& order() const { return order_; }

protected:
  explicit Matrix(Index n);
  virtual void arranged() {}
  std::vector<Index> order_;
};

// A matrix in memory, row-major; the memory belongs to the caller.
class DenseMatrix final : public Matrix {
public:
  DenseMatrix(const double* K, Index n) : Matrix(n), K_(K), n_(n) {}
  Index size() const override { return n_; }
  void diagonal(double* out) const override;
  void columns(const Index* which, Index count, Index first, Index last, double* out) const override;

private:
  const double* K_;
  Index n_;
};

// The two routines of BLAS that are used (Fortran calling convention).
struct Blas {
  void (*gemm)(char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
  void (*gemv)(char*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*);
};

// variance * exp(-|x - z|^2 / 2), or variance * (x'z + offset)^degree, for the rows of X (n x d, row-major, owned by
// the caller): a block of columns is one matrix product and one element-wise pass.
struct KernelShape {
  bool gaussian;
  double variance, offset;
  int degree;
};

class KernelMatrix final : public Matrix {
public:
  KernelMatrix(const double* X, Index n, Index d, KernelShape shape, Blas blas);
  Index size() const override { return n_; }
  void diagonal(double* out) const override;
  void columns(const Index* which, Index count, Index first, Index last, double* out) const override;

private:
  void arranged() override;
  const double* X_;
  Index n_, d_;
  KernelShape shape_;
  Blas blas_;
  std::vector<double> half_, by_feature_, half_arranged_;
};

} // namespace bayesvm::working_set
