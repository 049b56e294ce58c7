// The working-set solver without Python, for the sanitizers: every formulation on every source of columns.
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "plain_lapack.hpp"
#include "shared_columns.hpp"
#include "solver.hpp"

using namespace bayesvm::working_set;

namespace {

int failures = 0;

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

struct Data {
  Index n, d;
  std::vector<double> X, y, t;
};

Data sample(Index n, Index d) {
  Data data{n, d, std::vector<double>(n * d), std::vector<double>(n), std::vector<double>(n)};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (double& x : data.X)
    x = normal(random);
  for (Index i = 0; i < n; ++i) {
    data.t[i] = std::sin(1.5 * data.X[i * d]) + 0.5 * data.X[i * d + 1] + 0.4 * normal(random);
    data.y[i] = data.t[i] > 0.0 ? 1.0 : -1.0;
  }
  return data;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Terms margin(const std::vector<double>& y, double C, double bend, double weight) {
  const std::size_t n = y.size();
  Terms terms{y,
              std::vector<double>(n),
              std::vector<double>(n, bend),
              std::vector<double>(n, weight),
              std::vector<double>(n),
              std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i)
    (y[i] > 0.0 ? terms.upper : terms.lower)[i] = y[i] > 0.0 ? C : -C;
  return terms;
}

Terms residual(const std::vector<double>& t, double C, double kink, double bend) {
  const std::size_t n = t.size();
  return {t,
          std::vector<double>(n, kink),
          std::vector<double>(n, bend),
          std::vector<double>(n),
          std::vector<double>(n, -C),
          std::vector<double>(n, C)};
}

void check(Matrix& matrix, const Terms& terms, Options options, const char* what) {
  Solver solver(matrix, terms, options, {});
  Status status = Status::kRunning;
  while (status == Status::kRunning)
    status = solver.run(0.01);
  expect(status == Status::kConverged, what);
  const Index n = matrix.size();
  const std::vector<double> a = solver.alpha(), g = solver.gradient();
  std::vector<double> exact(n, 0.0), column(n);
  for (Index i = 0; i < n; ++i) {
    if (a[i] == 0.0) continue;
    matrix.columns(&i, 1, 0, n, column.data());
    for (Index at = 0; at < n; ++at)
      exact[matrix.order()[at]] += a[i] * column[at];
  }
  double sum = 0.0, up = kHuge, down = -kHuge, error = 0.0;
  for (Index i = 0; i < n; ++i) {
    sum += a[i];
    error = std::max(error, std::abs(g[i] - exact[i]));
    up = std::min(up, exact[i] + terms.up(i, a[i]));
    down = std::max(down, exact[i] + terms.down(i, a[i]));
    expect(a[i] >= terms.lower[i] && a[i] <= terms.upper[i], what);
  }
  expect(error < 1e-7, what);
  expect(!options.equality || std::abs(sum) < 1e-8, what);
  expect((options.equality ? down - up : std::max(down, -up)) <= 1.01 * options.tol, what);
}

} // namespace

int main() {
  const Data data = sample(600, 4);
  const Blas blas{plain::gemm, plain::gemv};
  for (const bool equality : {true, false})
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 19, std::size_t{1} << 24}) {
      const Options options{equality, true, 1e-4, 2000000, bytes};
      for (const KernelShape shape : {KernelShape{true, 2.0, 0.0, 1}, KernelShape{false, 0.1, 1.0, 2}}) {
        const auto fresh = [&] { return KernelMatrix(data.X.data(), data.n, data.d, shape, blas); };
        auto l1 = fresh();
        check(l1, margin(data.y, 1.0, 0.0, 0.0), options, "L1 margin");
        auto l2 = fresh();
        check(l2, margin(data.y, kInfinity, 0.5, 0.0), options, "L2 margin");
        auto trigonometric = fresh();
        check(trigonometric, margin(data.y, kInfinity, 0.0, 1.0), options, "trigonometric");
        auto soft = fresh();
        check(soft, residual(data.t, 2.0, 0.1, 0.05), options, "soft insensitive");
      }
    }

  auto kernel = std::make_shared<KernelMatrix>(data.X.data(), data.n, data.d, KernelShape{true, 1.0, 0.0, 1}, blas);
  std::vector<double> K(data.n * data.n);
  std::vector<Index> all;
  for (Index i = 0; i < data.n; ++i)
    all.push_back(i);
  kernel->columns(all.data(), data.n, 0, data.n, K.data());
  DenseMatrix dense(K.data(), data.n);
  const Options options{true, true, 1e-5, 2000000, std::size_t{1} << 22};
  check(dense, margin(data.y, 10.0, 0.0, 0.0), options, "dense matrix");

  auto store = std::make_shared<ColumnStore>(kernel);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k] {
      std::vector<Index> rows;
      std::vector<double> y;
      for (Index i = k; i < data.n; i += 2)
        rows.push_back(i), y.push_back(data.y[i]);
      StoreView view(store, rows);
      check(view, margin(y, 5.0, 0.0, 0.0), options, "shared columns");
    });
  for (std::thread& thread : threads)
    thread.join();
  if (failures == 0) std::printf("native tests passed\n");
  return failures == 0 ? 0 : 1;
}
