// The mode and the posterior under Gaussian sites without Python, for the sanitizers: one against the other, and
// several threads that share the memory for matrices.
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "../../src/bayesvm/_core/buffers.hpp"
#include "../../src/bayesvm/_core/mode/laplace.hpp"
#include "../../src/bayesvm/_core/sites/posterior.hpp"
#include "../../src/bayesvm/_core/sites/propagation.hpp"
#include "../../src/bayesvm/_core/triangular.hpp"
#include "plain_lapack.hpp"

using namespace bayesvm;
using Vector = std::vector<double>;

namespace {

int failures = 0;

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

struct Data {
  std::size_t n;
  Vector K, y, t, x, D;
};

Data sample(std::size_t n) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  Vector x(n), y(n), t(n), K(n * n), D(n * n);
  for (double& value : x)
    value = normal(random);
  for (std::size_t i = 0; i < n; ++i) {
    t[i] = std::sin(2.0 * x[i]) + 0.3 * normal(random);
    y[i] = t[i] > 0.0 ? 1.0 : -1.0;
    for (std::size_t j = 0; j < n; ++j) {
      D[i * n + j] = (x[i] - x[j]) * (x[i] - x[j]);
      K[i * n + j] = 3.0 * std::exp(-0.5 * D[i * n + j]);
    }
  }
  return {n, K, y, t, x, D};
}

// Matrices in memory that is used again, and the vectors of a posterior.
struct Posterior {
  explicit Posterior(std::size_t n, std::size_t m)
      : alpha(n), mean(n), var(n), rest(n), L(buffers().take(m * m)), inverse(buffers().take(m * m)) {}
  ~Posterior() {
    buffers().release(L);
    buffers().release(inverse);
  }
  Vector alpha, mean, var, rest;
  double* L;
  double* inverse;
};

// At the mode, the posterior under the sites of Laplace's approximation has the mode as its mean.
void check(const Data& data, const mode::Loss& loss, const Vector& weights) {
  const std::size_t n = data.n;
  const Lapack lapack = plain::lapack();
  const Vector& y = loss.of_margin() ? data.y : data.t;
  const double* w = weights.empty() ? nullptr : weights.data();
  gram::Rows rows(data.K.data(), n);
  const mode::Problem problem{rows, y.data(), n, loss, w, w};
  const mode::Result cold = mode::newton(lapack, problem, nullptr, {1e-9, 400});
  expect(cold.ending == mode::Ending::converged, "the mode is found");
  const mode::Result warm = mode::newton(lapack, problem, cold.point.f.data(), {1e-9, 400});
  std::vector<std::int64_t> support;
  Vector root, nu(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double curvature = cold.point.curvature[i];
    nu[i] = curvature * cold.point.f[i] - cold.point.gradient[i];
    if (curvature > 0.0) support.push_back(static_cast<std::int64_t>(i)), root.push_back(std::sqrt(curvature));
    expect(std::abs(warm.point.f[i] - cold.point.f[i]) < 1e-6, "a warm start does not move the mode");
  }
  const std::size_t m = support.size();
  Posterior out(n, m);
  sites::Results results{out.L, out.inverse, out.alpha.data(), out.mean.data(), out.var.data(), out.rest.data(), 0.0};
  expect(sites::posterior(lapack, data.K.data(), n, support.data(), root.data(), m, nu.data(), results) == 0, "factor");
  for (std::size_t i = 0; i < n; ++i) {
    expect(std::abs(out.mean[i] - cold.point.f[i]) < 1e-6, "the mean is the mode");
    expect(out.var[i] > 0.0 && out.var[i] <= 3.0 + 1e-9, "the variance is at most that of the prior");
  }
  Vector identity(m * m, 0.0);
  for (std::size_t k = 0; k < m; ++k)
    identity[k * m + k] = 1.0;
  trsm_lower(lapack, 'N', out.L, m, identity.data(), m);
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t i = k; i < m; ++i)
      expect(std::abs(identity[k * m + i] - out.inverse[k * m + i]) < 1e-8, "a solution is a column of the inverse");
  Vector square(out.inverse, out.inverse + m * m), dmean(m), dvar(m), none(m, 0.0), pull(m, 1e-3);
  square_lower(lapack, square.data(), m);
  sites::response(square.data(), m, root.data(), none.data(), pull.data(), dmean.data(), dvar.data());
  for (std::size_t k = 0; k < m; ++k)
    expect(dvar[k] == 0.0, "nu does not change a variance");
}

// The evidence by rows that are computed when they are asked for, from distances or from features, has the mode that
// the whole matrix gives, and its derivative is that of differences.
void check_evidence(const Data& data, const mode::Loss& loss) {
  const Lapack lapack = plain::lapack();
  const Vector& y = loss.of_margin() ? data.y : data.t;
  const mode::Targets targets{y.data(), loss, nullptr, nullptr};
  const auto value = [&](const mode::Evidence& e) {
    double sum = -e.mode.point.objective;
    for (std::size_t k = 0; k < e.mode.factor.order(); ++k)
      sum -= std::log(e.mode.factor.L()[k * e.mode.factor.order() + k]);
    return sum;
  };
  const auto at = [&](double variance, bool features, const double* start) {
    const gram::Term term{gram::TermKind::gaussian,
                          variance,
                          1.0,
                          features ? nullptr : data.D.data(),
                          features ? data.x.data() : nullptr,
                          features ? std::size_t{1} : 0};
    const gram::Covariance covariance(lapack, {term}, data.n);
    return mode::laplace(lapack, covariance, targets, start, {1e-11, 400});
  };
  gram::Rows rows(data.K.data(), data.n);
  const mode::Result whole =
      mode::newton(lapack, {rows, y.data(), data.n, loss, nullptr, nullptr}, nullptr, {1e-11, 400});
  for (const bool features : {false, true})
    for (const double* start : {static_cast<const double*>(nullptr), whole.point.f.data()}) {
      const mode::Evidence found = at(3.0, features, start);
      expect(std::abs(found.mode.point.objective - whole.point.objective) < 1e-8, "the mode is that of the matrix");
      const double step = 1e-5;
      const double slope =
          (value(at(3.0 * std::exp(step), features, start)) - value(at(3.0 * std::exp(-step), features, start))) /
          (2.0 * step);
      expect(std::abs(found.gradient[0] - slope) < 1e-4 * (1.0 + std::abs(slope)), "the derivative in the variance");
    }
}

// Expectation propagation: the evidence's derivative is that of differences, also from the sites of another point.
void check_propagation(const Data& data, sites::LabelKind kind, const Vector& weights) {
  const Lapack lapack = plain::lapack();
  const sites::Terms terms{data.y.data(), data.n, kind, nullptr, weights.empty() ? nullptr : weights.data()};
  const auto at = [&](double variance, const sites::Sites& start) {
    const gram::Term term{gram::TermKind::gaussian, variance, 1.0, data.D.data(), nullptr, 0};
    const gram::Covariance covariance(lapack, {term}, data.n);
    return sites::evidence(lapack, covariance, terms, start, {1e-10, 1e-8, 100});
  };
  const auto value = [&](const sites::Evidence& e) {
    const sites::Marginals& q = e.found.last.marginals;
    double sum = -0.5 * e.found.last.log_det;
    for (std::size_t i = 0; i < data.n; ++i) {
      const double c = weights.empty() ? 1.0 : std::max(weights[i], 1.0), rest = (q.rest[i] + (c - 1.0)) / c;
      sum += c * (e.found.last.matched.log_z[i] - 0.5 * std::log(rest)) -
             0.5 * q.alpha[i] * (q.mean[i] - q.var[i] / rest * (q.alpha[i] / c));
    }
    return sum;
  };
  const sites::Evidence cold = at(3.0, {Vector(data.n, 0.0), Vector(data.n, 0.0)});
  expect(cold.found.converged, "the fixed point is found");
  const double step = 1e-4;
  const sites::Sites& start = cold.found.last.sites;
  const double slope =
      (value(at(3.0 * std::exp(step), start)) - value(at(3.0 * std::exp(-step), start))) / (2.0 * step);
  expect(std::abs(cold.gradient[0] - slope) < 1e-6 * (1.0 + std::abs(slope)), "the derivative of EP's evidence");
}

} // namespace

int main() {
  const Data data = sample(90);
  Vector weights(data.n, 1.0);
  for (std::size_t i = 0; i < data.n; i += 3)
    weights[i] = 2.5;
  const mode::Loss losses[] = {{mode::LossKind::trigonometric, {}},
                               {mode::LossKind::raised_cosine, {}},
                               {mode::LossKind::logistic, {}},
                               {mode::LossKind::soft_insensitive, {10.0, 0.1, 0.3, 0.0}},
                               {mode::LossKind::smooth_insensitive, {10.0, 0.1, 0.3, 0.0}}};
  for (const mode::Loss& loss : losses)
    for (const Vector& some : {Vector{}, weights})
      check(data, loss, some);
  for (const mode::Loss& loss : losses) // of the other two the evidence jumps
    if (loss.kind != mode::LossKind::trigonometric && loss.kind != mode::LossKind::soft_insensitive)
      check_evidence(data, loss);
  for (std::size_t i = 1; i < data.n; i += 3)
    weights[i] = 0.3;
  for (const sites::LabelKind kind : {sites::LabelKind::trigonometric, sites::LabelKind::raised_cosine,
                                      sites::LabelKind::logistic, sites::LabelKind::probit})
    for (const Vector& some : {Vector{}, weights})
      check_propagation(data, kind, some);
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&data] {
      for (int trial = 0; trial < 10; ++trial) {
        Posterior one(data.n, 40 + static_cast<std::size_t>(trial)), two(data.n, 60);
        one.L[0] = two.inverse[0] = 1.0;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  if (failures == 0) std::printf("native tests of mode and sites passed\n");
  return failures == 0 ? 0 : 1;
}
