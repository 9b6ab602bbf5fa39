#include "cli/bench/rounds.hpp"

#include <utility>

namespace vouch::cli::bench {

std::size_t rounds::add(std::function<double()> run) {
  series_.push_back({std::move(run), {}});
  return series_.size() - 1;
}

void rounds::run(int count, const std::function<void(double)>& progress) {
  const auto runs = static_cast<double>(series_.size()) * (count + 1);
  double done = 0.0;
  for (int round = 0; round <= count; ++round) {
    for (std::size_t i = 0; i < series_.size(); ++i) {
      auto& each = series_[round % 2 == 0 ? i : series_.size() - 1 - i];
      const double value = each.run();
      if (round > 0) {
        each.values.push_back(value);
      }
      progress(++done / runs);
    }
  }
}

}  // namespace vouch::cli::bench
