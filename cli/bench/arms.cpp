#include "cli/bench/arms.hpp"

#include <cmath>
#include <utility>

namespace vouch::cli::bench {

namespace {

/// Classic runs before the rounds, and after them.
constexpr int bracket_runs = 3;

}  // namespace

std::size_t arms::add(std::function<double()> run) {
  arms_.push_back({std::move(run), {}});
  return arms_.size() - 1;
}

void arms::run(int rounds, const std::function<void(double)>& progress) {
  const auto count = arms_.size();
  const double all =
      static_cast<double>(count) * (rounds + 1) + 2.0 * bracket_runs;
  double done = 0.0;
  const auto measure = [&](arm& one) {
    const double rate = one.run();
    progress(++done / all);
    return rate;
  };
  for (auto& each : arms_) measure(each);
  for (int i = 0; i < bracket_runs; ++i) {
    opening_.push_back(measure(arms_.front()));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      auto& each = arms_[(static_cast<std::size_t>(round) + i) % count];
      each.rates.push_back(measure(each));
    }
  }
  for (int i = 0; i < bracket_runs; ++i) {
    closing_.push_back(measure(arms_.front()));
  }
}

double arms::floor() const {
  auto both = opening_;
  both.insert(both.end(), closing_.begin(), closing_.end());
  const auto all = spread_of(both);
  return (all.most - all.least) / all.median;
}

bool arms::drifted() const {
  const auto first = spread_of(opening_);
  const auto last = spread_of(closing_);
  return first.most < last.least || last.most < first.least;
}

bool arms::resolved(std::size_t arm) const {
  return std::abs(ratio(arm).median - 1.0) > floor();
}

}  // namespace vouch::cli::bench
