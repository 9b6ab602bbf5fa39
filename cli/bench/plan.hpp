#pragma once

#include <cstdint>
#include <vector>

#include "cli/bench/options.hpp"
#include "engine/executor/executor.hpp"
#include "engine/models/model_config.hpp"

namespace vouch::cli::bench {

/// The options as the model can hold them. Lists are sorted, without doubles,
/// and empty when their part is not wanted.
struct plan {
  std::int32_t tokens = 0;
  std::int32_t depth = 0;
  /// 0: not wanted.
  std::int32_t prompt = 0;
  std::int32_t chunk = 0;
  std::vector<std::int32_t> batches;
  std::vector<std::int32_t> widths;
  std::vector<std::int32_t> sampled;
  std::vector<std::int32_t> contexts;

  /// Sequences with a context of `depth`; 0 when no part needs one.
  std::int32_t sequences() const;
  /// Positions that each of them needs.
  std::int32_t sequence_capacity() const;
  /// What the executor must have for all parts at once.
  engine::cpu_executor_options room() const;
};

/// Throws input_error, naming the option, when what was asked for does not fit
/// into the model's context.
plan make_plan(const options& chosen, const engine::model_config& config);

}  // namespace vouch::cli::bench
