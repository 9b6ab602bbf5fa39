#pragma once

#include "engine/executor/cost_model.hpp"
#include "engine/executor/executor.hpp"

namespace vouch::engine {

/// How long measuring may take.
struct cost_budget {
  /// No further row count is begun after `seconds`, or after as many steps of
  /// one row as `steps` where those take longer, but after `most_seconds`.
  double seconds = 0.2;
  int steps = 12;
  double most_seconds = 2.0;
};

/// Times steps of 1 ... 64 rows, the small ones (what a burst verifies) first
/// and as the median of three. The executor must serve nobody yet: slot 0 and
/// the first blocks are used and given back, and as every sequence writes the
/// rows that it reads, nothing that is served later can tell. Throws
/// std::runtime_error when a step fails.
step_cost_model measure_step_costs(executor& device,
                                   const cost_budget& budget = {});

}  // namespace vouch::engine
