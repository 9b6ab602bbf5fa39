#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/executor/step.hpp"
#include "engine/speculation/round.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What a step may hold beyond classic rows: what the gate vouched for.
struct burst_rules {
  /// Legal verify widths; empty: classic rows only.
  width_set widths;
  /// Verify rows stay below this position.
  std::int64_t positions = 0;
  /// Several sequences may share a step. False: one sequence a step, the rung
  /// of the ladder below batched classic.
  bool batched = true;
  /// Verify rows run without an `equal` verdict (an escape): the rows of a
  /// sequence that had one never serve anybody else.
  bool inexact = false;
  draft_limits drafts;
  friend bool operator==(const burst_rules&, const burst_rules&) = default;
};

/// A sequence that may get a verify block in the next step.
struct draft_wish {
  sequence_id id = 0;
  slot_id slot = -1;
  /// The widest block that is legal for it now, in rows; >= 2.
  int most = 1;
};

/// What one decode or verify item of a step came to.
struct round_report {
  /// Of the anchor.
  std::int64_t position = 0;
  token_id anchor = -1;
  /// Those that were verified; empty: a classic step.
  std::vector<token_id> drafts;
  /// One a row; -1: in error.
  std::vector<token_id> picks;
  round_outcome outcome;
};

/// Slots and blocks that were lent out: the scheduler does not touch them until
/// they are taken back.
struct loan {
  std::vector<block_id> blocks;
  std::vector<slot_id> slots;
};

/// An item of a planned step that may be drawn for audit.
struct audit_candidate {
  sequence_id id = 0;
  row_kind kind = row_kind::prefill;
  std::int32_t position = 0;
  std::int64_t rows = 0;
  /// Of the whole step.
  std::int64_t step_rows = 0;
  /// The sequence began with rows from the prefix cache.
  bool cached_prefix = false;
  /// Other sequences have rows in the step.
  bool batched = false;
};

/// True: the item's logits are hashed and its blocks kept for an audit_record.
using audit_draw = std::function<bool(const audit_candidate&)>;

/// An item that was drawn, after its step: what was computed, and where its KV
/// rows stand.
struct audit_record {
  /// The blocks stay as they are until this hold is released or dropped.
  std::uint64_t hold = 0;
  sequence_id id = 0;
  row_kind kind = row_kind::prefill;
  bool cached_prefix = false;
  bool batched = false;
  /// Of the first row.
  std::int32_t position = 0;
  /// Rows that count: of a verify item those that were kept.
  std::int32_t rows = 0;
  /// The inputs of positions 0 ... position + rows - 1.
  std::vector<token_id> tokens;
  /// What was emitted behind them; -1: nothing, or a stop token.
  token_id next = -1;
  /// What picks need beyond the logits.
  sampling_params sampling;
  std::int32_t prompt_tokens = 0;
  /// logits_hashes[i] belongs to row hash_begin + i; rows - hash_begin of them.
  std::int32_t hash_begin = 0;
  std::vector<std::uint64_t> logits_hashes;
  std::vector<logits_state> logits_states;
  /// Of positions 0 ..., at least to position + rows - 1.
  std::vector<block_id> blocks;
  /// The whole step as it ran.
  std::shared_ptr<const step> work;
};

}  // namespace vouch::engine
