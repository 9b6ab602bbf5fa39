#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/speculation/drafter.hpp"

namespace vouch::cli::bench {

using token_list = std::vector<engine::token_id>;

/// How streams are decoded: all together, with the scheduler that serves.
struct burst_setup {
  /// One stream each.
  std::vector<token_list> prompts;
  /// Of each stream, after its first one.
  std::int32_t tokens = 0;
  /// Prompt rows of a step.
  std::int32_t chunk = 512;
  /// Rows of a verify block; 1: classic.
  int width = 1;
  /// Not for width 1.
  std::shared_ptr<const engine::drafter> drafter;
  engine::token_id vocabulary = 0;
};

/// What came of it, from the step after everybody's first token to the step in
/// which the first stream had all of its tokens.
struct burst_run {
  /// What each stream emitted, from its first token on.
  std::vector<token_list> texts;
  double seconds = 0.0;
  std::int64_t tokens = 0;
  std::int64_t steps = 0;
  /// In the steps, as the caller waits for them.
  double step_seconds = 0.0;
  double drafter_seconds = 0.0;
  /// Blocks that were verified, and what they emitted.
  std::int64_t blocks = 0;
  std::int64_t block_tokens = 0;
  /// By index in the block: drafts before which all were accepted, and of them
  /// those that were accepted too.
  std::vector<std::int64_t> reached;
  std::vector<std::int64_t> accepted;

  double rate() const { return static_cast<double>(tokens) / seconds; }
};

/// Adds the counts and times of `more`, not its texts.
void add(burst_run& into, const burst_run& more);

/// Greedy, past any end of generation. Throws std::runtime_error with what a
/// step or a sequence failed with.
burst_run run_bursts(engine::executor& device, const burst_setup& setup);

/// Room for run_bursts: each stream's positions are those of its prompt, its
/// tokens and one more block.
std::int32_t positions_of(const burst_setup& setup);

}  // namespace vouch::cli::bench
