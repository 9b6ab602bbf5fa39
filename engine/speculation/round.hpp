#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// A round verifies drafted tokens in one step. State between rounds: the
/// anchor (the last emitted token, which has no KV row yet) at position
/// `start`; the cache holds positions 0 ... start - 1.
///
/// 1. The input of `width` rows is the anchor and width - 1 drafts d.
/// 2. The model gives one pick a row, t[0] ... t[width - 1], each the token
///    that classic decoding would pick if its drafts were the text.
/// 3. accepted = longest common prefix of d and t. A draft is accepted if and
///    only if it equals the model's own pick, at every temperature.
/// 4. emitted = d[0 ... accepted) + t[accepted], cut at the first stop token,
///    at a stop string, at the budget and at the context's end.
/// 5. The cache keeps as many of the rows as tokens were emitted; the last
///    emitted token is the next anchor.
///
/// A classic decode step is the round of width 1, and so the same functions
/// describe it.

/// What limits a round's width.
struct round_bounds {
  /// The widest block wanted: the configured width or the controller's.
  int most = 1;
  /// Tokens that may still be emitted.
  std::int64_t to_emit = 0;
  /// Positions from the anchor's own to the context's end.
  std::int64_t context_left = 0;
};

/// Rows of the next round: min(most, to_emit + 1, context_left), then the
/// largest vouched width at or below that, else 1 (classic). 0: nothing may
/// be computed any more.
int round_width(const round_bounds& bounds, const width_set& vouched);

/// Which drafts a block may hold.
struct draft_limits {
  /// Ids are 0 ... vocabulary - 1.
  token_id vocabulary = 0;
  /// The drafter's mask, which is never text.
  std::optional<token_id> mask;
  friend bool operator==(const draft_limits&, const draft_limits&) = default;
};

/// The rows' input tokens: the anchor, then drafts up to `width` rows. The
/// first draft that is out of range or a mask ends the block, and what is left
/// shrinks to a vouched width, at worst to the anchor alone.
std::vector<token_id> verify_input(token_id anchor,
                                   std::span<const token_id> drafts, int width,
                                   const draft_limits& limits,
                                   const width_set& vouched);

/// Why a sequence goes on or ends with a round.
enum class round_end : std::uint8_t {
  none,
  stop_token,
  stop_string,
  budget,
  context,
  /// The row that had to give the next token had no valid pick.
  failed,
};
/// "none", "stop_token", ...
std::string_view name_of(round_end end);
std::optional<round_end> round_end_of(std::string_view name);

/// What cuts a round's emission.
struct emission_rules {
  std::span<const token_id> stop_tokens;
  /// Tokens that may still be emitted, >= 1. A stop token counts.
  std::int64_t to_emit = 0;
  /// Positions from the anchor's own to the context's end, >= 1.
  std::int64_t context_left = 0;
  /// Told every emitted token but a stop token, once and in order; true: the
  /// text so far completes a stop string. May be empty.
  std::function<bool(token_id)> completes_stop_string;
};

struct round_outcome {
  /// Drafts that equal the picks, whatever was emitted of them.
  int accepted = 0;
  /// Accepted drafts that were emitted: what metrics count.
  int accepted_emitted = 0;
  /// In order; a stop token that ended the sequence is the last one.
  std::vector<token_id> emitted;
  /// Of the block's rows, those whose KV stays: one an emitted token.
  int kept_rows = 0;
  /// The last emitted token, or the anchor where none was.
  token_id next_anchor = -1;
  round_end end = round_end::none;
  /// The row without a valid pick, where `end` is failed; else -1.
  int failed_row = -1;
};

/// Settles a round from its input (anchor, drafts) and the picks of its rows;
/// a negative pick is a row in error (a NaN) or one that was not picked. Such
/// rows past `accepted`, or past where emission is cut, are ignored, as classic
/// decoding would never have computed them; at `accepted` the sequence ends.
/// Throws std::invalid_argument where picks and input differ in length, or
/// nothing may be emitted.
round_outcome settle_round(std::span<const token_id> input,
                           std::span<const token_id> picks,
                           const emission_rules& rules);

}  // namespace vouch::engine
