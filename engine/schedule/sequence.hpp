#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cache/prefix_cache.hpp"
#include "engine/executor/step.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/text/stop_matcher.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// A sequence inside the scheduler: its tokens, where its rows stand, and what
/// it holds of the pool. Internal to engine/schedule.
struct sequence {
  // What it is; fixed.
  sequence_id id = 0;
  /// Counts additions: who came first.
  std::uint64_t arrival = 0;
  std::int64_t prompt_tokens = 0;
  /// Cut to what context and pool leave.
  std::int64_t max_tokens = 0;
  sampling_params sampling;
  bool prompt_logprobs = false;
  std::int32_t priority = 0;
  std::string tenant;
  sequence_id sibling_of = 0;
  /// Added as a sibling: its request and its prompt are counted already.
  bool follows = false;
  bool speculate = true;
  /// What ends it, its own and the model's.
  std::vector<token_id> stop_tokens;
  std::int64_t added_ms = 0;
  /// The first admission's.
  std::int64_t admitted_ms = -1;
  /// Steps planned before it was added: its wait is counted in steps.
  std::uint64_t added_step = 0;

  // Its text so far; survives preemption.
  /// Prompt and emitted tokens.
  std::vector<token_id> tokens;
  stop_matcher stops;
  std::int64_t cached_tokens = 0;
  std::vector<picked_token> prompt_scores;
  /// The last prompt row was computed once (and its log-probabilities given).
  bool prompt_done = false;
  /// Was admitted before: it resumes ahead of new ones.
  bool preempted = false;

  // What it holds while it runs; empty while it waits.
  bool running = false;
  slot_id slot = -1;
  /// Blocks of positions 0 ...
  std::vector<block_id> blocks;
  /// Blocks it may still grow to without asking; 0 where nothing is reserved.
  std::int64_t reserved = 0;
  /// A block to copy with its first item; both blocks are referenced.
  block_copy copy;
  /// Rows below this one are prefill rows.
  std::int64_t prefill_end = 0;
  /// Rows planned, and of them rows whose step has completed.
  std::int64_t scheduled = 0;
  std::int64_t computed = 0;
  /// Picks that steps in flight will bring.
  int outstanding = 0;
  /// Rows of the verify item in flight; 0: none. It is never planned beside.
  std::int64_t verifying = 0;
  /// Drafts for the next plan.
  std::vector<token_id> offered;
  /// It began with rows from the prefix cache.
  bool cached_prefix = false;
  /// It has rows that nobody vouched for, so nobody else may have them.
  bool tainted = false;
  /// A planted fault: rows from here to the last one are not computed; -1.
  std::int64_t skip_from = -1;
  /// The last step that names it.
  step_id last_step = 0;
  /// Counts admissions, so that a result of an earlier one is not taken.
  std::uint32_t epoch = 0;
  /// Leading blocks that stand in the prefix cache, and the last one's node.
  std::int64_t registered = 0;
  prefix_cache::handle node;
  /// Its block table and the cache's path may differ in blocks of the same
  /// content: it then registers only blocks that nobody shares.
  bool mixed_path = false;

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t generated() const { return size() - prompt_tokens; }
  std::int64_t held() const { return static_cast<std::int64_t>(blocks.size()); }
  bool prefilling() const { return scheduled < prefill_end; }
  /// Blocks reserved but not held yet.
  std::int64_t unclaimed() const {
    return reserved > held() ? reserved - held() : 0;
  }
};

}  // namespace vouch::engine
