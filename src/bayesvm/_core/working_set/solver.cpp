#include "solver.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "line_search.hpp"

namespace bayesvm::working_set {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Index kShrinkPeriod = 1000;
constexpr double kShrinkShare = 0.1;     // set variables aside once this share of the active ones can be
constexpr Index kBlockEntries = 1 << 20; // entries of the block of columns that a reconstruction computes at a time
constexpr Index kStepsBetweenLooks = 64; // steps between looks at the clock
constexpr double kRounding = 16.0 * std::numeric_limits<double>::epsilon();

} // namespace

Solver::Solver(Matrix& matrix, Terms terms, Options options, std::vector<double> start)
    : matrix_(matrix), terms_(std::move(terms)), options_(options), cache_(matrix, options.cache_bytes),
      n_(matrix.size()), active_(n_), until_shrink_(std::min(n_, kShrinkPeriod)), alpha_(std::move(start)),
      diagonal_(n_), g_(n_, 0.0), up_(n_), down_(n_), quad_(n_) {
  if (terms_.size() != n_) throw std::invalid_argument("expected one term per row of the matrix");
  if (n_ == 0) throw std::invalid_argument("expected at least one variable, found none");
  if (alpha_.empty()) alpha_.assign(n_, 0.0);
  matrix_.diagonal(diagonal_.data());
  for (Index at = 0; at < n_; ++at)
    refresh(at);
  begin_restore(0);
}

void Solver::set_tol(double tol) {
  options_.tol = tol;
  if (status_ == Status::kConverged && gap_ > tol) {
    status_ = Status::kRunning;
    phase_ = Phase::kIterate;
  }
}

double Solver::objective() const {
  double value = 0.0;
  for (Index at = 0; at < n_; ++at) {
    const Index i = matrix_.order()[at];
    value += 0.5 * alpha_[i] * g_[at] + terms_.value(i, alpha_[i]);
  }
  return value;
}

std::vector<double> Solver::gradient() const {
  std::vector<double> out(n_);
  for (Index at = 0; at < n_; ++at)
    out[matrix_.order()[at]] = g_[at];
  return out;
}

// Slopes and curvature of the variable at a position, after its value has changed.
void Solver::refresh(Index at) {
  const Index i = matrix_.order()[at];
  up_[at] = terms_.up(i, alpha_[i]);
  down_[at] = terms_.down(i, alpha_[i]);
  quad_[at] = diagonal_[i] + terms_.curvature(i, alpha_[i]);
}

void Solver::measure() {
  gap_ = options_.equality ? extremes_.high - extremes_.low : std::max(extremes_.high, -extremes_.low);
}

// -- reconstruction of the gradient

void Solver::begin_restore(Index from) {
  phase_ = Phase::kRestore;
  restore_from_ = from;
  std::fill(g_.begin() + from, g_.end(), 0.0);
  pending_.clear();
  for (Index i = n_ - 1; i >= 0; --i)
    if (alpha_[i] != 0.0) pending_.push_back(i);
}

void Solver::restore_some() {
  const Index rows = n_ - restore_from_;
  const Index block = std::max<Index>(1, kBlockEntries / std::max<Index>(1, rows));
  std::vector<Index> missing;
  while (!pending_.empty() && static_cast<Index>(missing.size()) < block) {
    const Index i = pending_.back();
    pending_.pop_back();
    if (const double* column = cache_.known(i, n_))
      add(g_.data() + restore_from_, column + restore_from_, alpha_[i], rows);
    else
      missing.push_back(i);
  }
  if (!missing.empty()) {
    std::vector<double> columns(missing.size() * static_cast<std::size_t>(rows));
    matrix_.columns(missing.data(), static_cast<Index>(missing.size()), restore_from_, n_, columns.data());
    for (std::size_t c = 0; c < missing.size(); ++c)
      add(g_.data() + restore_from_, columns.data() + c * static_cast<std::size_t>(rows), alpha_[missing[c]], rows);
  }
  if (!pending_.empty()) return;
  active_ = n_;
  extremes_ = extremes(g_.data(), up_.data(), down_.data(), n_);
  measure();
  phase_ = Phase::kIterate;
}

// -- shrinking

void Solver::shrink() {
  const double high = options_.equality ? extremes_.high : gap_, low = options_.equality ? extremes_.low : -gap_;
  std::vector<Index> stay, go;
  for (Index at = 0; at < active_; ++at)
    (g_[at] + up_[at] > high && g_[at] + down_[at] < low ? go : stay).push_back(at);
  if (static_cast<double>(go.size()) < kShrinkShare * static_cast<double>(active_)) return;
  std::vector<Index> positions = stay;
  positions.insert(positions.end(), go.begin(), go.end());
  for (Index at = active_; at < n_; ++at)
    positions.push_back(at);

  const auto rearranged = [&positions](const std::vector<double>& values) {
    std::vector<double> out(values.size());
    for (std::size_t at = 0; at < values.size(); ++at)
      out[at] = values[positions[at]];
    return out;
  };
  g_ = rearranged(g_);
  up_ = rearranged(up_);
  down_ = rearranged(down_);
  quad_ = rearranged(quad_);
  std::vector<Index> order(n_);
  for (Index at = 0; at < n_; ++at)
    order[at] = matrix_.order()[positions[at]];
  active_ = static_cast<Index>(stay.size());
  std::vector<char> wanted(n_, 0);
  for (Index at = 0; at < active_; ++at)
    wanted[order[at]] = 1;
  matrix_.arrange(std::move(order));
  cache_.keep(stay, wanted);
  extremes_ = extremes(g_.data(), up_.data(), down_.data(), active_);
  measure();
}

// -- steps

bool Solver::moved(Index at_i, Index at_j, const double* column_i, const double* column_j, double new_i, double new_j) {
  double& a_i = alpha_[matrix_.order()[at_i]];
  double& a_j = alpha_[matrix_.order()[at_j]];
  const double x = new_i - a_i, y = at_i == at_j ? 0.0 : new_j - a_j;
  if (x == 0.0 && y == 0.0) return false;
  a_i = new_i;
  if (at_j != at_i) a_j = new_j;
  refresh(at_i);
  refresh(at_j);
  extremes_ = advance(g_.data(), column_i, x, column_j, y, up_.data(), down_.data(), active_);
  measure();
  return true;
}

bool Solver::step_with_equality() {
  const Index at_i = extremes_.low_at;
  const Index i = matrix_.order()[at_i];
  const double* column_i = cache_.column(i, active_);
  const Index at_j = partner(g_.data(), down_.data(), quad_.data(), column_i, extremes_.low, quad_[at_i], active_);
  if (at_j < 0 || at_j == at_i) return false;
  const Index j = matrix_.order()[at_j];
  if (g_[at_j] + down_[at_j] - extremes_.low <= kRounding * (1.0 + std::abs(g_[at_i]) + std::abs(g_[at_j])))
    return false;
  const double* column_j = cache_.column(j, active_);
  const double curvature = std::max(diagonal_[i] + diagonal_[j] - 2.0 * column_i[at_j], 1e-12);
  Mover first{i, alpha_[i], 1.0}, second{j, alpha_[j], -1.0};
  minimize_on_line(terms_, first, second, g_[at_i] - g_[at_j], curvature);
  return moved(at_i, at_j, column_i, column_j, first.value, second.value);
}

// Without the constraint every variable can move alone. The pair takes the Newton step of both (Thesis Table 4.1), then
// each in turn the exact step along its own axis, which settles what the bounds and kinks have cut off.
bool Solver::step_without_equality() {
  const Index at_i = best_single(g_.data(), up_.data(), down_.data(), quad_.data(), active_);
  if (at_i < 0 || gap_ <= kRounding * (1.0 + std::abs(g_[at_i]))) return false;
  const Index i = matrix_.order()[at_i];
  const double* column_i = cache_.column(i, active_);
  const double d_i = g_[at_i] + up_[at_i] < 0.0 ? g_[at_i] + up_[at_i] : g_[at_i] + down_[at_i];
  const Index found =
      best_second(g_.data(), up_.data(), down_.data(), quad_.data(), column_i, d_i, quad_[at_i], at_i, active_);
  const Index at_j = found < 0 ? at_i : found;
  const Index j = matrix_.order()[at_j];
  const double* column_j = at_j == at_i ? column_i : cache_.column(j, active_);

  const double K_ij = column_i[at_j];
  double g_i = g_[at_i], g_j = g_[at_j];
  Mover first{i, alpha_[i], 0.0}, second{j, alpha_[j], 0.0};
  const auto along = [&](double p_i, double p_j) {
    const double old_i = first.value, old_j = second.value;
    const double curvature = p_i * p_i * diagonal_[i] + 2.0 * p_i * p_j * K_ij + p_j * p_j * diagonal_[j];
    first.direction = p_i;
    second.direction = p_j;
    if (p_i != 0.0)
      minimize_on_line(terms_, first, second, p_i * g_i + p_j * g_j, std::max(curvature, 0.0));
    else
      minimize_on_line(terms_, second, first, p_j * g_j, diagonal_[j]);
    const double x = first.value - old_i, y = second.value - old_j;
    g_i += x * diagonal_[i] + y * K_ij;
    g_j += x * K_ij + y * diagonal_[j];
  };
  const auto axis = [&](bool of_first) {
    const Index v = of_first ? i : j;
    const double g = of_first ? g_i : g_j, value = of_first ? first.value : second.value;
    const double p = g + terms_.up(v, value) < 0.0 ? 1.0 : (g + terms_.down(v, value) > 0.0 ? -1.0 : 0.0);
    if (p != 0.0) along(of_first ? p : 0.0, of_first ? 0.0 : p);
  };
  if (at_j != at_i) {
    const double u_j = g_j + up_[at_j], v_j = g_j + down_[at_j];
    const double d_j = u_j < 0.0 ? u_j : std::max(v_j, 0.0);
    const double det = quad_[at_i] * quad_[at_j] - K_ij * K_ij;
    if (det > 1e-12 * quad_[at_i] * quad_[at_j])
      along((-quad_[at_j] * d_i + K_ij * d_j) / det, (K_ij * d_i - quad_[at_i] * d_j) / det);
  }
  axis(true);
  if (at_j != at_i) {
    axis(false);
    axis(true);
  }
  return moved(at_i, at_j, column_i, column_j, first.value, at_j == at_i ? first.value : second.value);
}

void Solver::finish(Status status) {
  status_ = status;
  phase_ = Phase::kDone;
}

void Solver::end_iteration(bool progress) {
  if (progress) {
    ++iterations_;
    refreshed_ = false;
    return;
  }
  if (refreshed_) return finish(Status::kStalled);
  refreshed_ = true; // rounding in the gradient may be the reason: compute it afresh, once
  begin_restore(0);
}

Status Solver::run(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (Index turn = 1; phase_ != Phase::kDone; ++turn) {
    if ((phase_ == Phase::kRestore || turn % kStepsBetweenLooks == 0) && Clock::now() >= end) return Status::kRunning;
    if (phase_ == Phase::kRestore) {
      restore_some();
    } else if (gap_ <= options_.tol) {
      if (active_ == n_)
        finish(Status::kConverged);
      else
        begin_restore(active_);
    } else if (iterations_ >= options_.max_iter) {
      if (active_ == n_)
        finish(Status::kMaxIter);
      else
        begin_restore(active_);
    } else if (active_ < n_ && !reopened_ && gap_ <= 10.0 * options_.tol) {
      reopened_ = true; // what was set aside early may matter after all
      begin_restore(active_);
    } else {
      if (options_.shrink && --until_shrink_ <= 0) {
        until_shrink_ = std::min(n_, kShrinkPeriod);
        shrink();
      }
      end_iteration(options_.equality ? step_with_equality() : step_without_equality());
    }
  }
  return status_;
}

} // namespace bayesvm::working_set
