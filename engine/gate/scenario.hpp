#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sampling/sampling_params.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What the drafts of a sequence are like, and so which of a block's rows are
/// kept.
enum class draft_pattern : std::uint8_t {
  /// None: one row a step.
  classic,
  /// Every draft is accepted.
  all,
  /// No draft is.
  none,
  /// All of one block, none of the next.
  alternating,
  /// Each with probability 0.7.
  mixed,
  /// Any tokens.
  random,
  /// Prompt lookup's.
  lookup,
  /// The drafter that serves.
  live,
};
/// "classic", "all", ...
std::string_view name_of(draft_pattern pattern);

/// A text as the classic arm gave it, alone: what every other arm must give.
struct probe_text {
  std::string name;
  /// The prompt's, then the picks.
  std::vector<token_id> tokens;
  std::int64_t prompt = 0;
  sampling_params sampling;
  /// Hash of the logits of the row at position first_logits + i.
  std::int64_t first_logits = 0;
  std::vector<std::uint64_t> logits;
  /// Hash of K and V of position i.
  std::vector<std::uint64_t> kv;

  std::int64_t size() const { return static_cast<std::int64_t>(tokens.size()); }
};

/// One sequence of a scenario.
struct scenario_sequence {
  /// Index of its text.
  std::size_t text = 0;
  /// Tokens to generate; below what the text has, so that every row of its
  /// blocks can be compared.
  std::int64_t tokens = 0;
  draft_pattern pattern = draft_pattern::classic;
  /// Rows of its blocks.
  int width = 1;
  /// It begins this many steps after the scenario.
  std::int64_t delay = 0;
  /// Index of a sequence before it in the scenario that must have ended; -1:
  /// none.
  int after = -1;
  /// Logits on its prompt's rows as well, and no prefix from the cache.
  bool prompt_logits = false;
  /// It has a stop token, one that its text comes to before `tokens` are
  /// generated; the next two are then set by find_stop().
  bool stops = false;
  token_id stop_token = -1;
  /// Tokens that it generates before that.
  std::int64_t stop_at = -1;

  /// Tokens that are to come of it.
  std::int64_t emitted() const { return stop_at >= 0 ? stop_at : tokens; }
};

/// Chooses the stop token of a sequence from its text: the latest token that
/// did not come before, and that is a draft where all drafts are right (the
/// first token is the prefill's, and a block of w rows ends with a pick of its
/// own); if there is none such, the latest. Without one it has no stop token.
void find_stop(scenario_sequence& of, const probe_text& text);

/// Sequences that are served together by a scheduler of their own.
struct scenario {
  /// What is special about it: "alone", "beside a prefill".
  std::string name;
  std::vector<scenario_sequence> sequences;
  /// Legal widths.
  width_set widths;
  /// Prompt rows of one sequence in a step; 0: as served.
  std::int64_t chunk = 0;
  bool prefix_cache = true;
  /// Blocks of its pool; 0: all that were lent. Few: sequences are preempted.
  std::int64_t blocks = 0;
  /// With how few it can be played, where it is to be short of them.
  std::int64_t least_blocks = 0;
  /// After so many steps every sequence is sent back to compute its rows anew;
  /// 0: never.
  std::int64_t send_back = 0;
  /// The step's items are put into another order.
  bool permute = false;
  std::uint64_t seed = 0;
  /// What must have happened, or it shows nothing.
  bool wants_preemption = false;
  bool wants_cache_hit = false;
};

}  // namespace vouch::engine
