#include "engine/bisect/bisect_case.hpp"

#include <algorithm>

#include "engine/cache/block_pool.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

std::int64_t bisect_case::kept_rows() const {
  std::int64_t rows = 0;
  for (const auto& items : steps) {
    for (const auto& item : items) rows += item.kept;
  }
  return rows;
}

std::int64_t bisect_case::widest_step() const {
  std::int64_t widest = 1;
  for (const auto& items : steps) {
    std::int64_t rows = 0;
    for (const auto& item : items) {
      rows += static_cast<std::int64_t>(item.tokens.size());
    }
    widest = std::max(widest, rows);
  }
  return widest;
}

executor_limits needs_of(const bisect_case& of, std::int64_t positions) {
  executor_limits needs;
  std::vector<std::int64_t> ends;
  for (const auto& each : of.sequences) {
    ends.push_back(static_cast<std::int64_t>(each.tokens.size()));
  }
  for (const auto& items : of.steps) {
    for (const auto& item : items) {
      auto& end = ends[item.sequence];
      end = std::max(
          end, item.position + static_cast<std::int64_t>(item.tokens.size()));
    }
  }
  for (const auto end : ends) {
    if (end > positions) {
      throw input_error(of.what, "needs " + std::to_string(end) +
                                     " positions, and the model has " +
                                     std::to_string(positions));
    }
    needs.blocks += static_cast<std::int32_t>(blocks_for(end));
  }
  needs.slots = static_cast<std::int32_t>(of.sequences.size());
  needs.step_rows = std::max(of.widest_step(), of.chunk);
  return needs;
}

}  // namespace vouch::engine
