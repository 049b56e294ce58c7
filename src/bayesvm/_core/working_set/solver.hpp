// Sequential minimal optimisation of the dual problem in terms.hpp.
#pragma once
#include <vector>

#include "cache.hpp"
#include "matrix.hpp"
#include "selection.hpp"
#include "terms.hpp"

namespace bayesvm::working_set {

enum class Status { kRunning, kConverged, kStalled, kMaxIter };

struct Options {
  bool equality = true; // sum_i a_i = 0
  bool shrink = true;
  double tol = 1e-3; // largest gap of the optimality conditions, in units of the gradient
  Index max_iter = 10000000;
  std::size_t cache_bytes = 200u << 20;
};

// With G = K a, D+ = G + h'(a+) and D- = G + h'(a-), a is optimal if max D- <= min D+ (equality constraint), or
// D- <= 0 <= D+ for every variable (no constraint). The gap is max D- - min D+, or the largest violation.
//
// Two variables move at a time, chosen by second-order information: the pair along which the objective falls most,
// given the first. Variables that sit at a bound or a kink and cannot belong to a violating pair are set aside
// (shrunk); before anything is reported the gradient of all is reconstructed from K and a, and the conditions are
// checked for all.
class Solver {
public:
  // The matrix must outlive the solver and not be used by another at the same time. `start` is a feasible point, or
  // empty for zero.
  Solver(Matrix& matrix, Terms terms, Options options, std::vector<double> start);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // Work for about the given number of seconds; kRunning: call again.
  Status run(double seconds);

  // Ask for another tolerance; `run` continues from where it is.
  void set_tol(double tol);

  Index iterations() const { return iterations_; }
  Index misses() const { return cache_.misses(); }
  Index active() const { return active_; }
  double gap() const { return gap_; }
  // Ends of the interval of the multiplier of the constraint (minus the bias): max D- and min D+.
  double multiplier_low() const { return extremes_.high; }
  double multiplier_high() const { return extremes_.low; }
  double objective() const;
  const std::vector<double>& alpha() const { return alpha_; }
  std::vector<double> gradient() const; // K a in the original order, exact once `run` has ended

private:
  enum class Phase { kIterate, kRestore, kDone };
  bool step_with_equality();
  bool step_without_equality();
  bool moved(Index at_i, Index at_j, const double* column_i, const double* column_j, double new_i, double new_j);
  void refresh(Index at);
  void measure();
  void shrink();
  void begin_restore(Index from);
  void restore_some();
  void end_iteration(bool progress);
  void finish(Status status);

  Matrix& matrix_;
  Terms terms_;
  Options options_;
  ColumnCache cache_;
  Index n_, active_, iterations_ = 0, until_shrink_ = 0;
  std::vector<double> alpha_, diagonal_;     // by original number
  std::vector<double> g_, up_, down_, quad_; // by position: K a, one-sided slopes of h, K_ii + h''
  Extremes extremes_{};
  double gap_ = 0.0;
  Phase phase_ = Phase::kIterate;
  Status status_ = Status::kRunning;
  bool reopened_ = false;  // all variables were taken back once, close to the end
  bool refreshed_ = false; // the gradient was computed afresh because no step made progress
  Index restore_from_ = 0;
  std::vector<Index> pending_; // columns that the reconstruction still has to add
};

} // namespace bayesvm::working_set
