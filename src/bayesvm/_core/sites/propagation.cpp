#include "propagation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "../gram/rows.hpp"
#include "../mixer.hpp"
#include "../triangular.hpp"
#include "posterior.hpp"

namespace bayesvm::sites {
namespace {

// See bayesvm.inference.ep for what these are.
constexpr std::size_t kDepth = 5;
constexpr int kPredictions = 25;
constexpr std::size_t kMixtures = 10;
constexpr double kContracting = 0.5;
constexpr double kSmallestStep = 0.1;
constexpr double kPredicted = 0.25;
constexpr double kUseful = 0.3;
constexpr double kReentry = 4.0;
constexpr double kRough = 1e-2;
// A variance grows by this factor at most when it is predicted.
constexpr double kGrowth = 1e3;
// Copies of a row beyond which nothing is predicted.
constexpr double kCopies = 1e3;
// Sweeps after which the rest is left to the caller, and rows from which on there is a pause after each.
constexpr int kPatience = 25;
constexpr std::size_t kLong = 400;

double bounded(double value, double least) {
  return value > least ? value : least;
}

class Iteration {
public:
  Iteration(const Lapack& lapack, const double* K, const Terms& terms, const Limits& limits)
      : lapack_(lapack), K_(K), terms_(terms), limits_(limits), n_(terms.n), shares_(n_, 1.0), copies_(n_, 1.0) {
    if (terms.weights == nullptr) return;
    powers_.assign(terms.weights, terms.weights + n_);
    for (std::size_t i = 0; i < n_; ++i) {
      copies_[i] = std::max(powers_[i], 1.0);
      powers_[i] = std::min(powers_[i], 1.0);
      if (copies_[i] > kCopies) predict_below_ = 0.0;
    }
  }

  Propagated run(Sites start) {
    Propagated out;
    if (!sweep(std::move(start), out.last)) return out;
    scale_ = out.last.marginals.var;
    const int most = std::min(limits_.max_iter, kPatience);
    for (out.n_iter = 1; out.n_iter <= most; ++out.n_iter) {
      const Sweep& old = out.last;
      if (old.matched.residual <= limits_.tol) {
        out.converged = true;
        if (limits_.settle > 0.0 && old.matched.residual > kRough) {
          scale_ = old.marginals.var;
          settled(out.last, limits_.settle, out.last.matched, out.last.marginals);
        }
        break;
      }
      const bool predicts = old.matched.residual < predict_below_;
      Matched ahead;
      Marginals there;
      const bool found = predicts && settled(out.last, limits_.tol, ahead, there);
      Sweep next;
      const bool mixes = !predicts && old.matched.residual < mix_below_;
      Sites target = found   ? std::move(ahead.image)
                     : mixes ? mixed(mixer_, old.sites, old.matched.image, step_)
                             : damped(old);
      if (!sweep(std::move(target), next)) break;
      learn(old, next);
      out.last = std::move(next);
    }
    return out;
  }

private:
  const Lapack& lapack_;
  const double* K_;
  const Terms& terms_;
  const Limits& limits_;
  std::size_t n_;
  Vector shares_, scale_;  // how far each site goes when sweeps are damped; the unit of its precision
  Vector copies_, powers_; // of each row; no powers if all are one
  Mixer mixer_{kDepth};
  double step_ = 1.0, predict_below_ = kPredicted, mix_below_ = kContracting;
  std::vector<double> trail_; // residuals of sweeps that were mixed in a row, the oldest first

  // The posterior with the given sites and what matches; false if that leads beyond what is treated here.
  bool sweep(Sites sites, Sweep& out) const {
    const double most = 1.0 / (4.0 * static_cast<double>(n_) * std::numeric_limits<double>::epsilon());
    for (std::size_t i = 0; i < n_; ++i) {
      const double tau = sites.tau[i];
      if (!(tau >= 0.0) || !(tau * K_[i * n_ + i] <= most) || !std::isfinite(sites.nu[i])) return false;
      if (tau > 0.0) {
        out.support.push_back(static_cast<std::int64_t>(i));
        out.root.push_back(std::sqrt(tau));
      }
    }
    const std::size_t m = out.support.size();
    out.L = Block(m * m);
    out.inverse = Block(m * m);
    Marginals& q = out.marginals;
    q = {Vector(n_), Vector(n_), Vector(n_), Vector(n_)};
    Results results{out.L.get(), out.inverse.get(), q.alpha.data(), q.mean.data(), q.var.data(), q.rest.data(), 0.0};
    const int info = posterior(lapack_, K_, n_, out.support.data(), out.root.data(), m, sites.nu.data(), results);
    if (n_ >= kLong && limits_.pause) limits_.pause();
    out.log_det = results.log_det;
    if (info != 0 || !std::isfinite(out.log_det)) return false;
    out.sites = std::move(sites);
    return match(out.sites, q, out.matched);
  }

  // See bayesvm.inference.ep._match. False if a cavity is improper or a number not finite.
  bool match(const Sites& sites, const Marginals& q, Matched& out) const {
    Vector mean(n_), var(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double c = copies_[i], rest = c == 1.0 ? q.rest[i] : (q.rest[i] + (c - 1.0)) / c; // one copy left out
      if (!(q.var[i] > 0.0 && rest > 0.0)) return false;
      var[i] = q.var[i] / rest;
      mean[i] = terms_.y[i] * (q.mean[i] - var[i] * (q.alpha[i] / c));
      if (!std::isfinite(mean[i]) || !std::isfinite(var[i])) return false;
    }
    out.log_z.resize(n_), out.slope.resize(n_), out.bend.resize(n_);
    out.image = {Vector(n_), Vector(n_)};
    out.residual = 0.0;
    moments(terms_.kind, mean.data(), var.data(), powers_.empty() ? nullptr : powers_.data(), n_, out.log_z.data(),
            out.slope.data(), out.bend.data());
    for (std::size_t i = 0; i < n_; ++i) {
      const double slope = out.slope[i] *= terms_.y[i], bend = std::min(out.bend[i], 0.0);
      if (!std::isfinite(out.log_z[i] + slope + bend)) return false;
      const double c = copies_[i], left = bounded(1.0 + var[i] * bend, 1e-12);
      double &tau = out.image.tau[i], &nu = out.image.nu[i];
      tau = c * (-bend / left);
      nu = c * ((slope - terms_.y[i] * mean[i] * bend) / left);
      const double least = (sites.tau[i] == 0.0 ? kReentry : 1.0) * limits_.drop;
      const bool weak = (tau * var[i] < least && c * std::abs(slope) * std::sqrt(var[i]) < least) ||
                        (terms_.frozen != nullptr && terms_.frozen[i] != 0);
      if (weak) tau = nu = 0.0;
      if (weak && sites.tau[i] == 0.0 && sites.nu[i] == 0.0) continue;
      const double apart = std::abs(slope - q.alpha[i] / c) * var[i] / std::sqrt(q.var[i]);
      const double wider = std::abs(var[i] * left / q.var[i] - 1.0);
      out.residual = std::max({out.residual, apart, wider});
    }
    return true;
  }

  Sites damped(const Sweep& at) const {
    Sites out = at.sites;
    for (std::size_t i = 0; i < n_; ++i) {
      const double share = shares_[i], dtau = at.matched.image.tau[i] - at.sites.tau[i];
      const double length = (1.0 - share) * std::abs(dtau) * at.marginals.var[i];
      const double wanted = at.matched.image.tau[i] == 0.0 ? 1.0 : share;
      const double part = wanted * share / std::max(share, wanted * length);
      out.tau[i] += part * dtau;
      out.nu[i] += part * (at.matched.image.nu[i] - at.sites.nu[i]);
    }
    return out;
  }

  // Adapts to what the last step has brought; see bayesvm.inference.ep._Steps.learn.
  void learn(const Sweep& old, const Sweep& next) {
    adapt(old.matched.residual, next.matched.residual);
    turn(old, next);
  }

  void adapt(double old, double next) {
    if (next > old)
      step_ = std::max(0.7 * step_, kSmallestStep);
    else if (next < 0.5 * old)
      step_ = std::min(1.0, 1.2 * step_);
    const bool worse = next > 2.0 * old || next > kContracting;
    if (old < predict_below_) {
      if (next > kUseful * old) predict_below_ = kUseful * old;
    } else if (old < mix_below_) {
      trail_.push_back(old);
      if (trail_.size() > kMixtures) trail_.erase(trail_.begin());
      if (worse || (trail_.size() == kMixtures && next > 0.5 * trail_.front())) mix_below_ = kUseful * old;
    }
    if (worse || !(old < mix_below_)) {
      mixer_.forget();
      trail_.clear();
    }
  }

  // Sites that had to turn back go less far, the others farther.
  void turn(const Sweep& old, const Sweep& next) {
    const auto missing_tau = [](const Sweep& s, std::size_t i) { return s.matched.image.tau[i] - s.sites.tau[i]; };
    const auto missing_pull = [this](const Sweep& s, std::size_t i) {
      return copies_[i] * s.matched.slope[i] - s.marginals.alpha[i];
    };
    for (std::size_t i = 0; i < n_; ++i) {
      const bool turned =
          missing_tau(old, i) * missing_tau(next, i) < 0.0 || missing_pull(old, i) * missing_pull(next, i) < 0.0;
      shares_[i] = turned ? 0.7 * shares_[i] : std::min(1.2 * shares_[i], 1.0);
    }
  }

  // A mixture of the last steps, with sites that mixing made impossible replaced by their images.
  Sites mixed(Mixer& mixer, const Sites& sites, const Sites& image, double step) const {
    const auto scaled = [&](const Sites& from) {
      Vector out(2 * n_);
      for (std::size_t i = 0; i < n_; ++i) {
        const double root = std::sqrt(copies_[i]);
        out[i] = scale_[i] / root * from.tau[i];
        out[n_ + i] = std::sqrt(scale_[i]) / root * from.nu[i];
      }
      return out;
    };
    const Vector next = mixer.next(scaled(sites), scaled(image), step);
    Sites out = image;
    for (std::size_t i = 0; i < n_; ++i)
      if (image.tau[i] != 0.0 && next[i] >= 0.0) {
        const double root = std::sqrt(copies_[i]);
        out.tau[i] = next[i] * root / scale_[i];
        out.nu[i] = next[n_ + i] * root / std::sqrt(scale_[i]);
      }
    return out;
  }

  // What matches the moments of marginals that respond to the sites as predicted from the sweep, whose inverse factor
  // is used up, with these marginals; false where that promises little.
  bool settled(Sweep& at, double tol, Matched& best, Marginals& there) const {
    const std::vector<std::int64_t>& M = at.support;
    const std::size_t m = M.size();
    square_lower(lapack_, at.inverse.get(), m);
    const double residual = at.matched.residual, goal = std::max(0.1 * tol, 0.1 * residual * residual);
    double least = kUseful * residual;
    bool found = false;
    Mixer mixer(kDepth);
    Sites sites = at.sites;
    Matched matched = at.matched;
    const Marginals from = at.marginals;
    Marginals q = from;
    Vector dtau(m), pull(m), moved(m, 0.0), wider(m);
    for (int trial = 0; trial < kPredictions; ++trial) {
      sites = mixed(mixer, sites, matched.image, 1.0);
      for (std::size_t k = 0; k < m; ++k) {
        const auto i = static_cast<std::size_t>(M[k]);
        dtau[k] = sites.tau[i] - at.sites.tau[i];
        pull[k] = sites.nu[i] - at.sites.nu[i] - dtau[k] * (from.mean[i] + moved[k]);
      }
      response(at.inverse.get(), m, at.root.data(), dtau.data(), pull.data(), moved.data(), wider.data());
      for (std::size_t k = 0; k < m; ++k) {
        const auto i = static_cast<std::size_t>(M[k]);
        const double var = from.var[i];
        q.mean[i] = from.mean[i] + moved[k];
        q.var[i] = var / bounded(1.0 - wider[k] / var, 1.0 / kGrowth);
      }
      for (std::size_t i = 0; i < n_; ++i) {
        q.alpha[i] = sites.nu[i] - sites.tau[i] * q.mean[i];
        q.rest[i] = 1.0 - sites.tau[i] * q.var[i];
      }
      if (!match(sites, q, matched)) break;
      if (matched.residual < least) {
        least = matched.residual;
        best = matched;
        there = q;
        found = true;
      }
      if (matched.residual <= goal) break;
    }
    return found;
  }
};

// dK = 1/2 alpha alpha' - 1/2 T^1/2 B^-1 T^1/2 on the support.
Block cotangent(const Sweep& at, const double* B_inverse) {
  const std::size_t m = at.support.size();
  Vector a(m);
  for (std::size_t k = 0; k < m; ++k)
    a[k] = at.marginals.alpha[static_cast<std::size_t>(at.support[k])];
  Block dK(m * m);
  for (std::size_t k = 0; k < m; ++k) {
    double* const to = dK.get() + k * m;
    const double *from = B_inverse + k * m, x = 0.5 * a[k], y = 0.5 * at.root[k];
    for (std::size_t l = 0; l < m; ++l)
      to[l] = x * a[l] - y * at.root[l] * from[l];
  }
  return dK;
}

} // namespace

Propagated propagate(const Lapack& lapack, const double* K, const Terms& terms, Sites start, const Limits& limits) {
  return Iteration(lapack, K, terms, limits).run(std::move(start));
}

Evidence evidence(const Lapack& lapack, const gram::Covariance& covariance, const Terms& terms, Sites start,
                  const Limits& limits) {
  gram::Rows K(covariance);
  std::vector<std::int64_t> all(terms.n);
  std::iota(all.begin(), all.end(), 0);
  K.need(all);
  Evidence out;
  out.found = propagate(lapack, K.whole(), terms, std::move(start), limits);
  if (!out.found.converged) return out;
  Sweep& last = out.found.last;
  square_lower(lapack, last.inverse.get(), last.support.size());
  out.dK = cotangent(last, last.inverse.get());
  out.gradient = covariance.pullback(last.support.data(), last.support.size(), out.dK.get());
  return out;
}

} // namespace bayesvm::sites
