#include "newton.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "../gram/loops.hpp"
#include "../mixer.hpp"

namespace bayesvm::mode {
namespace {

using Vector = std::vector<double>;

constexpr int kLineSteps = 50;
// Share of the points up to which chord steps leave out the others.
constexpr double kCompact = 0.7;
constexpr double kChordFrom = 0.1, kChordGain = 5.0, kFar = 0.3, kPolish = 0.01;
// Earlier chord steps that mixing looks at.
constexpr std::size_t kDepth = 4;
// Steps after which S must have fallen by more than rounding, or the residual to a half.
constexpr int kPatience = 25;

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

// The points with a coefficient, curvature or a place in the factor, as a problem of their own.
struct Part {
  Part(const Problem& whole, const Point& at, const Factor& factor) {
    std::vector<bool> factored(whole.n, false);
    for (const std::int64_t i : factor.support())
      factored[static_cast<std::size_t>(i)] = true;
    for (std::size_t i = 0; i < whole.n; ++i) {
      if (!factored[i] && at.alpha[i] == 0.0 && at.gradient[i] == 0.0 && at.curvature[i] == 0.0) continue;
      if (factored[i]) support.push_back(static_cast<std::int64_t>(rows.size()));
      rows.push_back(static_cast<std::int64_t>(i));
      alpha.push_back(at.alpha[i]);
      f.push_back(at.f[i]);
      y.push_back(whole.y[i]);
      if (whole.weights != nullptr) weights.push_back(whole.weights[i]);
      if (whole.copies != nullptr) copies.push_back(whole.copies[i]);
    }
    if (static_cast<double>(rows.size()) > kCompact * static_cast<double>(whole.n)) return;
    whole.K.need(rows);
    const std::size_t m = rows.size();
    K = Block(m * m);
    for (std::size_t k = 0; k < m; ++k) {
      const double* row = whole.K[rows[k]];
      for (std::size_t l = k; l < m; ++l)
        K.get()[k * m + l] = row[rows[l]];
    }
    gram::mirror(K.get(), m, 0, m);
  }

  Problem problem(const Problem& whole, gram::Rows& own) const {
    return {own,
            y.data(),
            rows.size(),
            whole.loss,
            whole.weights == nullptr ? nullptr : weights.data(),
            whole.copies == nullptr ? nullptr : copies.data()};
  }

  std::vector<std::int64_t> rows, support; // support: of the factor, as positions in rows
  Vector alpha, f, y, weights, copies;
  Block K; // of the rows, unless these are most of all
};

class Solver {
public:
  Solver(const Lapack& lapack, const Problem& problem, const Limits& limits)
      : lapack_(lapack), problem_(problem), limits_(limits) {}

  // The first iterate, from latent values if they are given, and the number of factorisations spent on it.
  Point start(const double* latent, int& n_iter) {
    const Vector zeros(problem_.n, 0.0);
    Point zero = point(zeros, zeros);
    if (latent == nullptr) return zero;
    const Vector f(latent, latent + problem_.n);
    const Point there = point(zeros, f);
    for (const double loss : there.loss)
      if (!std::isfinite(loss)) return zero;
    Vector target(problem_.n);
    for (std::size_t i = 0; i < target.size(); ++i)
      target[i] = there.curvature[i] * f[i] - there.gradient[i];
    const Factor& factor = factored(there.curvature);
    n_iter = 1;
    Vector alpha = factor.direction(lapack_, factor.support(), target, times(target));
    for (double& a : alpha)
      a = -a;
    const Vector K_alpha = times(alpha);
    for (const double shrink : {1.0, 0.9, 0.7, 0.5, 0.25}) {
      Point shrunk = moved(zero, alpha, K_alpha, shrink);
      if (shrunk.objective < zero.objective) return chord_steps(std::move(shrunk), factor);
    }
    return zero;
  }

  // One step from the point, with line search and chord steps; false if there is no lower point. It is Newton's, or, if
  // far, one with the majorant in place of the curvature, after which Newton's is to be tried.
  bool step(Point& at, bool& far) {
    const Factor& factor = factored(far ? majorant(at) : at.curvature);
    const Vector residual = residual_of(at);
    const Vector direction = factor.direction(lapack_, factor.support(), residual, times(residual));
    Point lower;
    bool full = false;
    const bool found = line_search(at, residual, direction, lower, full), was_far = far;
    if (found) at = full && !far ? chord_steps(std::move(lower), factor) : std::move(lower);
    far = found && !full;
    return found || was_far;
  }

  // The factor of the last step; to be asked for once.
  Factor last_factor() { return std::move(factor_); }

private:
  const Lapack& lapack_;
  const Problem& problem_;
  const Limits& limits_;
  Factor factor_;

  const Factor& factored(const Vector& curvature) {
    factor_ = Factor(lapack_, problem_.K, curvature);
    if (limits_.pause && factor_.order() >= kLong) limits_.pause();
    return factor_;
  }

  Vector times(const Vector& x) const {
    const std::size_t n = problem_.n;
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < n; ++i)
      if (x[i] != 0.0) rows.push_back(static_cast<std::int64_t>(i));
    Vector out(n);
    problem_.K.need(rows);
    if (problem_.K.whole() != nullptr && static_cast<double>(rows.size()) > 0.5 * static_cast<double>(n)) {
      symv_lower(lapack_, problem_.K.whole(), n, x.data(), out.data());
      return out;
    }
    Vector values(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k)
      values[k] = x[static_cast<std::size_t>(rows[k])];
    gram::rows_times(problem_.K.at(rows).data(), n, values.data(), rows.size(), out.data());
    return out;
  }

  Vector majorant(const Point& at) const {
    const bool of_margin = problem_.loss.of_margin();
    Vector out(problem_.n);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double w = problem_.weights == nullptr ? 1.0 : problem_.weights[i];
      out[i] = w * problem_.loss.majorant(of_margin ? problem_.y[i] * at.f[i] : problem_.y[i] - at.f[i]);
    }
    return out;
  }

  static Vector residual_of(const Point& at) {
    Vector residual(at.alpha);
    for (std::size_t i = 0; i < residual.size(); ++i)
      residual[i] += at.gradient[i];
    return residual;
  }

  Point point(Vector alpha, Vector f) const {
    const std::size_t n = problem_.n;
    const bool of_margin = problem_.loss.of_margin();
    Point out;
    out.loss.resize(n);
    out.gradient.resize(n);
    out.curvature.resize(n);
    out.third.resize(n);
    double total = 0.0, residual = 0.0, scale = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double slope = of_margin ? problem_.y[i] : -1.0;
      const Derivatives d = problem_.loss.at(of_margin ? problem_.y[i] * f[i] : problem_.y[i] - f[i]);
      const double w = problem_.weights == nullptr ? 1.0 : problem_.weights[i];
      const double copies = problem_.copies == nullptr ? 1.0 : problem_.copies[i];
      out.loss[i] = w > 0.0 ? w * d.loss : 0.0;
      out.gradient[i] = slope * w * d.gradient;
      out.curvature[i] = w * d.curvature;
      out.third[i] = slope * w * d.third;
      total += out.loss[i];
      residual = std::max(residual, std::abs(alpha[i] + out.gradient[i]) / copies);
      scale = std::max(scale, std::abs(out.gradient[i]) / copies);
    }
    out.objective = 0.5 * dot(alpha, f) + total;
    out.kkt = residual / scale;
    out.alpha = std::move(alpha);
    out.f = std::move(f);
    return out;
  }

  Point moved(const Point& from, const Vector& direction, const Vector& K_direction, double t) const {
    Vector alpha(from.alpha), f(from.f);
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      alpha[i] += t * direction[i];
      f[i] += t * K_direction[i];
    }
    return point(std::move(alpha), std::move(f));
  }

  bool line_search(const Point& from, const Vector& residual, const Vector& direction, Point& best, bool& full) const {
    const Vector K_direction = times(direction);
    const double slope = dot(residual, K_direction), rounding = 1e-14 * (1.0 + std::abs(from.objective));
    double t = 1.0, low = 0.0, high = 1.0;
    bool found = false;
    for (int trial = 0; trial < kLineSteps; ++trial) {
      Point next = moved(from, direction, K_direction, t);
      const bool finite = std::isfinite(next.objective);
      const double ahead = finite ? dot(residual_of(next), K_direction) : INFINITY;
      if (next.objective <= from.objective + 1e-4 * t * slope + rounding &&
          (next.objective < from.objective - rounding || next.kkt < from.kkt)) {
        best = std::move(next);
        found = true;
        if (t == 1.0 || std::abs(ahead) <= 0.1 * std::abs(slope)) break;
      }
      (ahead < 0.0 ? low : high) = t;
      if (low >= high) break;
      t = low == 0.0 ? 0.1 * high : low < 0.1 * high ? std::sqrt(low * high) : 0.5 * (low + high);
    }
    full = t == 1.0;
    return found;
  }

  // Steps with the factor at hand as long as they pay. Where most points have neither coefficient nor curvature the
  // others are a problem of their own: the rest is looked at once, at the end.
  Point chord_steps(Point at, const Factor& factor) const {
    if (!pays(at)) return at;
    const Part part(problem_, at, factor);
    if (static_cast<double>(part.rows.size()) > kCompact * static_cast<double>(problem_.n))
      return plain_chord_steps(std::move(at), factor, factor.support());
    gram::Rows K(part.K.get(), part.rows.size());
    const Problem problem = part.problem(problem_, K);
    const Solver inner(lapack_, problem, limits_);
    const Point small = inner.plain_chord_steps(inner.point(part.alpha, part.f), factor, part.support);
    if (!(small.kkt < at.kkt)) return at;
    Vector alpha(problem_.n, 0.0);
    for (std::size_t k = 0; k < part.rows.size(); ++k)
      alpha[static_cast<std::size_t>(part.rows[k])] = small.alpha[k];
    Vector f = times(alpha);
    Point whole = point(std::move(alpha), std::move(f));
    return whole.kkt < at.kkt ? whole : at;
  }

  bool pays(const Point& at) const { return kPolish * limits_.tol < at.kkt && at.kkt < kChordFrom; }

  Point plain_chord_steps(Point at, const Factor& factor, const std::vector<std::int64_t>& support) const {
    Mixer mixer(kDepth);
    while (pays(at)) {
      const Vector residual = residual_of(at);
      Vector image = factor.direction(lapack_, support, residual, times(residual));
      for (std::size_t i = 0; i < image.size(); ++i)
        image[i] += at.alpha[i];
      Vector change = mixer.next(at.alpha, image, 1.0);
      for (std::size_t i = 0; i < change.size(); ++i)
        change[i] -= at.alpha[i];
      Point next = moved(at, change, times(change), 1.0);
      if (!(kChordGain * next.kkt < at.kkt)) break;
      at = std::move(next);
    }
    return at;
  }
};

// What S and the residual were when they last made progress.
class Progress {
public:
  explicit Progress(const Point& at) : objective_(at.objective), kkt_(at.kkt) {}

  // Whether steps go on without any.
  bool ended(const Point& at) {
    const double rounding = 1e-14 * (1.0 + std::abs(objective_));
    if (at.objective < objective_ - rounding || at.kkt < 0.5 * kkt_)
      *this = Progress(at);
    else
      ++steps_;
    return steps_ >= kPatience;
  }

private:
  double objective_, kkt_;
  int steps_ = 0;
};

// Steps from the start until the mode is found, with majorants or without; false if it stalled after a majorant.
bool search(Solver& solver, const double* start, const Limits& limits, bool majorants, Result& result) {
  int begun = 0;
  result.point = solver.start(start, begun);
  result.n_iter += begun;
  result.ending = Ending::converged;
  Progress progress(result.point);
  bool far = majorants && start != nullptr && result.point.kkt > kFar, helped = false;
  while (result.point.kkt > limits.tol) {
    if (result.n_iter >= limits.max_iter) {
      result.ending = Ending::max_iter;
      break;
    }
    ++result.n_iter;
    helped = helped || far;
    if (!solver.step(result.point, far) || (progress.ended(result.point) && result.point.kkt > limits.tol)) {
      result.ending = Ending::stalled;
      return !helped;
    }
    far = far && majorants;
  }
  return true;
}

} // namespace

Result newton(const Lapack& lapack, const Problem& problem, const double* start, const Limits& limits) {
  Solver solver(lapack, problem, limits);
  Result result;
  try {
    if (!search(solver, start, limits, true, result) && result.n_iter < limits.max_iter)
      search(solver, start, limits, false, result);
  } catch (const NotPositiveDefinite& error) {
    result.ending = Ending::not_positive_definite;
    result.order = error.order;
  }
  result.factor = solver.last_factor();
  return result;
}

} // namespace bayesvm::mode
