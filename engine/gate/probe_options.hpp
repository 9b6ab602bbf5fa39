#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gate/arm_run.hpp"
#include "engine/gate/verdict.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

struct probe_prompt {
  std::string name;
  std::vector<token_id> tokens;
};

/// Text of a built-in prompt, to be tokenised by whoever has the tokenizer.
struct prompt_text {
  std::string_view name;
  std::string_view text;
};
/// Chat, code, prose, other languages.
std::vector<prompt_text> built_in_prompts();

struct probe_options {
  arm_setup setup;
  /// Real prompts; where there are fewer than needed, synthetic ones (random
  /// tokens) stand in. One long synthetic prompt is always there.
  std::vector<probe_prompt> prompts;
  /// In the order in which they are vouched for. Empty: classic rows only.
  std::vector<int> widths;
  /// Rows past a prompt.
  std::int64_t walk = 256;
  /// The first stage vouches for rows below this position; each later one for
  /// twice as many, up to last_positions.
  std::int64_t positions = 512;
  /// Positions of an attention split: prompts begin bursts around its border.
  std::int64_t split = 256;
  /// Tokens of the long prompt instead of what `positions` asks for; 0: that.
  std::int64_t prompt_tokens = 0;
  /// Where the last stage ends; 0: at the end of the context.
  std::int64_t last_positions = 0;
  /// Logits rows (or K and V) to compare in random scenarios after the first
  /// stage; 0: none.
  std::int64_t random_rows = 0;
  /// Verdicts that hold already (stored ones): what they vouch for is not
  /// measured again, and what they call wrong is not tried.
  verdict_table known;
  /// Measures also what stands on something that was found wrong: widths where
  /// batching diverges. For people who want to see all of it.
  bool measure_all = false;
  /// Reads the bytes of a row that differs, to count them.
  bool read_rows = false;
  std::uint64_t seed = 1;
};

}  // namespace vouch::engine
