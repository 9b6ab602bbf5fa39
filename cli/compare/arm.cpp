#include "cli/compare/arm.hpp"

#include <algorithm>

namespace vouch::cli::compare {

void round_counts::count_positions(std::size_t drafts,
                                   std::size_t accepted_here) {
  if (reached.size() < drafts) {
    reached.resize(drafts);
    taken.resize(drafts);
  }
  for (std::size_t i = 0; i < std::min(drafts, accepted_here + 1); ++i) {
    ++reached[i];
    if (i < accepted_here) ++taken[i];
  }
  if (!rewinds) rewinds = 0;
  if (accepted_here < drafts) ++*rewinds;
}

std::int64_t arm::tokens() const {
  std::int64_t sum = 0;
  for (const auto& each : answers) sum += std::ssize(each.tokens);
  return sum;
}

double arm::rate() const {
  return seconds > 0.0 ? static_cast<double>(tokens()) / seconds : 0.0;
}

}  // namespace vouch::cli::compare
