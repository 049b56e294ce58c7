// The binding layer of the working-set solver: checks shapes, keeps arrays alive, releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "../arrays.hpp"
#include "shared_columns.hpp"
#include "solver.hpp"

using namespace bayesvm;
using namespace bayesvm::working_set;
using nb::literals::operator""_a;

namespace {

// SciPy offers the addresses of its BLAS routines in capsules whose name is the signature.
template <class Function> Function blas_routine(const char* name) {
  nb::object table = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
  nb::object capsule = table[name];
  const char* signature = PyCapsule_GetName(capsule.ptr());
  if (signature == nullptr || std::strstr(signature, "int *") == nullptr)
    throw std::runtime_error(std::string("scipy.linalg.cython_blas.") + name +
                             ": expected 32-bit integers in its signature");
  return reinterpret_cast<Function>(PyCapsule_GetPointer(capsule.ptr(), signature));
}

Blas scipy_blas() {
  return {blas_routine<decltype(Blas::gemm)>("dgemm"), blas_routine<decltype(Blas::gemv)>("dgemv")};
}

std::vector<double> copied(const ConstVector& v, Index n, const char* name) {
  if (static_cast<Index>(v.shape(0)) != n)
    throw std::invalid_argument(std::string(name) + ": expected " + std::to_string(n) + " entries, found " +
                                std::to_string(v.shape(0)));
  return std::vector<double>(v.data(), v.data() + n);
}

template <class Array, class Value> Array fresh(const std::vector<Value>& values) {
  auto* data = new Value[values.size()];
  std::copy(values.begin(), values.end(), data);
  return Array(data, {values.size()}, owner(data));
}

// Columns from Python: called with the numbers of the columns and of the rows, returns one row per column.
class CallbackMatrix final : public Matrix {
public:
  CallbackMatrix(nb::callable function, std::vector<double> diagonal)
      : Matrix(static_cast<Index>(diagonal.size())), function_(std::move(function)), diagonal_(std::move(diagonal)) {}
  Index size() const override { return static_cast<Index>(diagonal_.size()); }
  void diagonal(double* out) const override { std::copy(diagonal_.begin(), diagonal_.end(), out); }

  void columns(const Index* which, Index count, Index first, Index last, double* out) const override {
    if (first == last || count == 0) return;
    nb::gil_scoped_acquire acquire;
    const auto wanted = fresh<NewNumbers>(std::vector<Index>(which, which + count));
    const auto rows = fresh<NewNumbers>(std::vector<Index>(order_.begin() + first, order_.begin() + last));
    const auto block = nb::cast<ConstMatrix>(function_(wanted, rows));
    if (static_cast<Index>(block.shape(0)) != count || static_cast<Index>(block.shape(1)) != last - first)
      throw std::invalid_argument("columns callback: expected an array of shape (" + std::to_string(count) + ", " +
                                  std::to_string(last - first) + "), found (" + std::to_string(block.shape(0)) + ", " +
                                  std::to_string(block.shape(1)) + ")");
    std::copy(block.data(), block.data() + count * (last - first), out);
  }

private:
  nb::callable function_;
  std::vector<double> diagonal_;
};

// What Python holds: where columns come from, and the arrays that must live as long. Every solver asks for a matrix of
// its own.
struct Columns {
  virtual ~Columns() = default;
  virtual Index size() const = 0;
  virtual std::shared_ptr<Matrix> matrix() const = 0;
};

struct DenseColumns final : Columns {
  explicit DenseColumns(ConstMatrix K) : K(std::move(K)) { check_square(this->K.shape(0), this->K.shape(1)); }
  Index size() const override { return static_cast<Index>(K.shape(0)); }
  std::shared_ptr<Matrix> matrix() const override { return std::make_shared<DenseMatrix>(K.data(), size()); }
  ConstMatrix K;
};

struct KernelColumns final : Columns {
  KernelColumns(ConstMatrix X, bool gaussian, double variance, double offset, int degree)
      : X(std::move(X)), shape{gaussian, variance, offset, degree}, blas(scipy_blas()) {}
  Index size() const override { return static_cast<Index>(X.shape(0)); }
  std::shared_ptr<Matrix> matrix() const override {
    return std::make_shared<KernelMatrix>(X.data(), size(), static_cast<Index>(X.shape(1)), shape, blas);
  }
  ConstMatrix X;
  KernelShape shape;
  Blas blas;
};

struct CallbackColumns final : Columns {
  CallbackColumns(nb::callable function, ConstVector diagonal)
      : function(std::move(function)), diagonal(copied(diagonal, static_cast<Index>(diagonal.shape(0)), "diagonal")) {}
  Index size() const override { return static_cast<Index>(diagonal.size()); }
  std::shared_ptr<Matrix> matrix() const override { return std::make_shared<CallbackMatrix>(function, diagonal); }
  nb::callable function;
  std::vector<double> diagonal;
};

struct SharedColumns final : Columns {
  explicit SharedColumns(std::shared_ptr<const Columns> source)
      : source(std::move(source)), store(std::make_shared<ColumnStore>(this->source->matrix())) {
    for (Index i = 0; i < store->size(); ++i)
      rows.push_back(i);
  }
  SharedColumns(const SharedColumns& whole, ConstNumbers part) : source(whole.source), store(whole.store) {
    check_row_numbers(part, whole.rows.size());
    for (std::size_t k = 0; k < part.shape(0); ++k)
      rows.push_back(whole.rows[static_cast<std::size_t>(part.data()[k])]);
  }
  Index size() const override { return static_cast<Index>(rows.size()); }
  std::shared_ptr<Matrix> matrix() const override { return std::make_shared<StoreView>(store, rows); }
  std::shared_ptr<const Columns> source;
  std::shared_ptr<const ColumnStore> store;
  std::vector<Index> rows;
};

// A solver and the matrix that it has for itself.
struct OwnedSolver {
  OwnedSolver(std::shared_ptr<const Columns> columns, ConstVector target, ConstVector kink, ConstVector bend,
              ConstVector weight, ConstVector lower, ConstVector upper, ConstVector start, bool equality, bool shrink,
              double tol, Index max_iter, std::size_t cache_bytes)
      : columns(columns), matrix(columns->matrix()),
        solver(make(*matrix, target, kink, bend, weight, lower, upper, start,
                    Options{equality, shrink, tol, max_iter, cache_bytes})) {}

  static Solver make(Matrix& matrix, const ConstVector& target, const ConstVector& kink, const ConstVector& bend,
                     const ConstVector& weight, const ConstVector& lower, const ConstVector& upper,
                     const ConstVector& start, Options options) {
    const Index n = matrix.size();
    Terms terms{copied(target, n, "target"), copied(kink, n, "kink"),   copied(bend, n, "bend"),
                copied(weight, n, "weight"), copied(lower, n, "lower"), copied(upper, n, "upper")};
    std::vector<double> alpha = copied(start, n, "start");
    for (Index i = 0; i < n; ++i)
      if (!(terms.lower[i] <= alpha[i] && alpha[i] <= terms.upper[i]))
        throw std::invalid_argument("start: entry " + std::to_string(i) + " lies outside its bounds");
    return Solver(matrix, std::move(terms), options, std::move(alpha));
  }

  int run(double seconds) {
    nb::gil_scoped_release release;
    return static_cast<int>(solver.run(seconds));
  }

  std::shared_ptr<const Columns> columns;
  std::shared_ptr<Matrix> matrix;
  Solver solver;
};

} // namespace

NB_MODULE(_working_set, m) {
  m.doc() =
      "Working-set solver of the duals of support vector machines; bayesvm._core.working_set.reference states the same "
      "in NumPy.";
  nb::class_<Columns>(m, "Columns", "Where the columns of a symmetric matrix come from.")
      .def_prop_ro("size", &Columns::size, "Number of rows and columns.");
  nb::class_<DenseColumns, Columns>(m, "DenseColumns", "A matrix in memory.").def(nb::init<ConstMatrix>(), "K"_a);
  nb::class_<KernelColumns, Columns>(
      m, "KernelColumns", "variance * exp(-|x - z|^2 / 2) or variance * (x'z + offset)^degree of the rows of X.")
      .def(nb::init<ConstMatrix, bool, double, double, int>(), "X"_a, "gaussian"_a, "variance"_a, "offset"_a = 0.0,
           "degree"_a = 1);
  nb::class_<CallbackColumns, Columns>(m, "CallbackColumns", "function(columns, rows) returns one row per column.")
      .def(nb::init<nb::callable, ConstVector>(), "function"_a, "diagonal"_a);
  nb::class_<SharedColumns, Columns>(m, "SharedColumns", "Columns computed once for several solvers, also in parallel.")
      .def(nb::init<std::shared_ptr<const Columns>>(), "source"_a)
      .def(
          "take",
          [](const SharedColumns& self, ConstNumbers rows) { return std::make_shared<SharedColumns>(self, rows); },
          "rows"_a, "The submatrix of the given rows and columns.");
  nb::class_<OwnedSolver>(m, "Solver", "One dual problem on its way to the optimum.")
      .def(nb::init<std::shared_ptr<const Columns>, ConstVector, ConstVector, ConstVector, ConstVector, ConstVector,
                    ConstVector, ConstVector, bool, bool, double, Index, std::size_t>(),
           "columns"_a, "target"_a, "kink"_a, "bend"_a, "weight"_a, "lower"_a, "upper"_a, "start"_a, "equality"_a,
           "shrink"_a, "tol"_a, "max_iter"_a, "cache_bytes"_a)
      .def("run", &OwnedSolver::run, "seconds"_a,
           "Work for about that long; 0 running, 1 converged, 2 stalled, 3 max_iter.")
      .def(
          "set_tol", [](OwnedSolver& self, double tol) { self.solver.set_tol(tol); }, "tol"_a)
      .def_prop_ro("gap", [](const OwnedSolver& self) { return self.solver.gap(); })
      .def_prop_ro("iterations", [](const OwnedSolver& self) { return self.solver.iterations(); })
      .def_prop_ro("misses", [](const OwnedSolver& self) { return self.solver.misses(); })
      .def_prop_ro("active", [](const OwnedSolver& self) { return self.solver.active(); })
      .def_prop_ro("objective", [](const OwnedSolver& self) { return self.solver.objective(); })
      .def_prop_ro("multiplier",
                   [](const OwnedSolver& self) {
                     return nb::make_tuple(self.solver.multiplier_low(), self.solver.multiplier_high());
                   })
      .def_prop_ro(
          "alpha", [](const OwnedSolver& self) { return fresh<NewVector>(self.solver.alpha()); }, nb::rv_policy::move)
      .def_prop_ro(
          "gradient", [](const OwnedSolver& self) { return fresh<NewVector>(self.solver.gradient()); },
          nb::rv_policy::move);
}
