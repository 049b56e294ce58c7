#include "rows.hpp"

#include <algorithm>
#include <numeric>

#include "loops.hpp"

namespace bayesvm::gram {
namespace {

// Share of the rows from which on all of them are computed.
constexpr double kMost = 0.6;
// Rows that are computed together.
constexpr std::size_t kTogether = 64;

} // namespace

Rows::Rows(const double* K, std::size_t n) : whole_(K), row_(n), known_(n) {
  for (std::size_t i = 0; i < n; ++i)
    row_[i] = K + i * n;
}

Rows::Rows(const Covariance& covariance) : covariance_(&covariance), row_(covariance.size(), nullptr) {}

void Rows::need(const std::vector<std::int64_t>& rows) {
  if (known_ == size()) return;
  std::vector<std::int64_t> missing;
  for (const std::int64_t row : rows)
    if (row_[static_cast<std::size_t>(row)] == nullptr) missing.push_back(row);
  if (missing.empty()) return;
  if (static_cast<double>(known_ + missing.size()) > kMost * static_cast<double>(size()))
    compute_all();
  else
    compute(missing);
}

std::vector<const double*> Rows::at(const std::vector<std::int64_t>& rows) const {
  std::vector<const double*> out;
  for (const std::int64_t row : rows)
    out.push_back((*this)[row]);
  return out;
}

void Rows::compute(const std::vector<std::int64_t>& rows) {
  const std::size_t n = size();
  blocks_.emplace_back(rows.size() * n);
  double* const data = blocks_.back().get();
  for (std::size_t first = 0; first < rows.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, rows.size() - first);
    covariance_->fill(rows.data() + first, count, 0, data + first * n);
  }
  for (std::size_t k = 0; k < rows.size(); ++k)
    row_[static_cast<std::size_t>(rows[k])] = data + k * n;
  known_ += rows.size();
}

void Rows::compute_all() {
  const std::size_t n = size();
  Block all(n * n);
  std::vector<std::int64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t top = 0; top < n; top += kTogether) {
    const std::size_t bottom = std::min(top + kTogether, n);
    covariance_->fill(numbers.data() + top, bottom - top, top, all.get() + top * n);
    mirror(all.get(), n, top, bottom);
  }
  for (std::size_t i = 0; i < n; ++i)
    row_[i] = all.get() + i * n;
  blocks_.clear();
  blocks_.push_back(std::move(all));
  whole_ = blocks_.back().get();
  known_ = n;
}

} // namespace bayesvm::gram
