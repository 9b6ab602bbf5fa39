#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/models/step_profile.hpp"
#include "engine/sampling/sampling_params.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What a step's rows of one sequence are for. The arithmetic is the same.
enum class row_kind : std::uint8_t { prefill, decode, verify };

/// Consecutive rows of one sequence in a step.
struct step_item {
  slot_id slot = -1;
  row_kind kind = row_kind::prefill;
  /// Absolute position of the first row.
  std::int32_t position = 0;
  /// One input token a row. Where `input_is_last_pick` is set there is one row,
  /// tokens[0] is ignored, and the input is what the step before this one
  /// picked for the same slot.
  std::vector<token_id> tokens;
  bool input_is_last_pick = false;
  /// Blocks for positions 0 ... position + rows - 1, at least.
  std::vector<block_id> blocks;
  /// Rows [logits_begin, rows) get logits; rows: none.
  std::int32_t logits_begin = 0;
  /// Rows [pick_begin, rows) get a pick; pick_begin >= logits_begin. The rows
  /// [logits_begin, pick_begin) report the log-probability of the token that
  /// follows them in `tokens` (prompt log-probabilities).
  std::int32_t pick_begin = 0;
  /// The token after the last row, for the log-probability of a chunk that
  /// ends inside its prompt: needed only where logits_begin < rows and
  /// pick_begin == rows.
  token_id next_token = -1;
  /// Hash the bytes of every logits row as it is made.
  bool hash_logits = false;
};

/// A block copied before the step's rows run (copy-on-write).
struct block_copy {
  block_id from = -1;
  block_id to = -1;
};

/// One forward pass: prefill chunks, decode rows and verify rows together.
struct step {
  step_id id = 0;
  std::vector<block_copy> copies;
  std::vector<step_item> items;

  std::int64_t rows() const {
    std::int64_t n = 0;
    for (const auto& item : items) {
      n += static_cast<std::int64_t>(item.tokens.size());
    }
    return n;
  }

  /// Rows whose logits are made.
  std::int64_t logits_rows() const {
    std::int64_t n = 0;
    for (const auto& item : items) {
      n += static_cast<std::int64_t>(item.tokens.size()) - item.logits_begin;
    }
    return n;
  }
};

/// What a row of logits holds, as far as no pick is needed to see it.
enum class logits_state : std::uint8_t {
  sound,
  /// Every value is 0: nothing computed this row.
  zero,
  /// A value is a NaN.
  nan
};

/// What a step's item produced, in the step's order.
struct step_item_result {
  slot_id slot = -1;
  /// One entry a pick row.
  std::vector<picked_token> picks;
  /// One entry for each row in [logits_begin, pick_begin).
  std::vector<picked_token> prompt_logprobs;
  /// With step_item::hash_logits, one entry for each row in [logits_begin,
  /// rows): hash64 of its float32 bytes, and whether it can be a row at all.
  std::vector<std::uint64_t> logits_hashes;
  std::vector<logits_state> logits_states;
  /// Not empty: this item failed ("row 0 at position 5: the logits hold a
  /// NaN") and its sequence must end; the other items are unharmed.
  std::string error;
  /// Of a verify item, what went wrong in the first row that could not be
  /// picked. Such rows have the pick -1, and whether one of them matters is
  /// for whoever settles the round: behind a rejected draft none does.
  std::string row_error;
};

struct step_result {
  step_id id = 0;
  std::vector<step_item_result> items;
  /// Not empty: the whole step failed and no item is valid.
  std::string error;
  /// Wall time of the step on its device.
  double seconds = 0.0;
  /// Of these, what the drafter's contexts took.
  double drafter_seconds = 0.0;
  /// Where it went; all zero unless the executor was told to profile.
  step_profile profile;
  /// Rows that a planted fault changed.
  std::int64_t faulted_rows = 0;
};

}  // namespace vouch::engine
