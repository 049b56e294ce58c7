// Anderson mixing of a fixed-point iteration, as bayesvm.solvers.anderson states it in NumPy.
#pragma once
#include <cmath>
#include <cstddef>
#include <vector>

namespace bayesvm {

class Mixer {
public:
  using Vector = std::vector<double>;

  explicit Mixer(std::size_t depth) : depth_(depth) {}

  // Begins afresh.
  void forget() {
    x_.clear();
    changes_.clear();
  }

  // The next iterate, given the last one, its image, and how far to go towards the combined image.
  Vector next(const Vector& x, const Vector& image, double step) {
    Vector residual(x.size()), out(image);
    for (std::size_t i = 0; i < x.size(); ++i)
      residual[i] = image[i] - x[i];
    Vector left = residual;
    if (!x_.empty()) {
      add_change(x, residual);
      subtract_projection(left, out);
    }
    subtract(out, 1.0 - step, left);
    x_ = x;
    residual_ = std::move(residual);
    return out;
  }

private:
  // Changes from one iterate to the next: of the residual, and of the image.
  struct Change {
    Vector residual, image;
  };
  std::size_t depth_;
  Vector x_, residual_;
  std::vector<Change> changes_; // the newest first

  static double dot(const Vector& a, const Vector& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += a[i] * b[i];
    return sum;
  }

  static void subtract(Vector& from, double scale, const Vector& other) {
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] -= scale * other[i];
  }

  void add_change(const Vector& x, const Vector& residual) {
    Change change{residual, x};
    subtract(change.residual, 1.0, residual_);
    for (std::size_t i = 0; i < x.size(); ++i)
      change.image[i] += change.residual[i] - x_[i];
    changes_.insert(changes_.begin(), std::move(change));
    if (changes_.size() > depth_) changes_.pop_back();
  }

  // The changes, made orthogonal one after the other, are taken out of the residual, and out of the image with it.
  // What is left of a change that depends on newer ones up to rounding is left out.
  void subtract_projection(Vector& residual, Vector& image) const {
    constexpr double kDependent = 1e-7;
    std::vector<Change> basis;
    for (const Change& change : changes_) {
      Change next = change;
      const double size = dot(next.residual, next.residual);
      for (const Change& other : basis) {
        const double share = dot(next.residual, other.residual);
        subtract(next.residual, share, other.residual);
        subtract(next.image, share, other.image);
      }
      const double norm = std::sqrt(dot(next.residual, next.residual));
      if (!(norm > kDependent * std::sqrt(size))) continue;
      for (std::size_t i = 0; i < image.size(); ++i) {
        next.residual[i] /= norm;
        next.image[i] /= norm;
      }
      const double share = dot(residual, next.residual);
      subtract(residual, share, next.residual);
      subtract(image, share, next.image);
      basis.push_back(std::move(next));
    }
  }
};

} // namespace bayesvm
