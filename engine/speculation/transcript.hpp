#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "engine/speculation/round.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// The round transcript: what happened in every burst round, as JSON lines. All
/// of it is on the host anyway, so writing one costs the device nothing.
///
/// A sequence is one choice of one request, named by both. Its `sequence`
/// record comes first; a `burst` record begins each run of rounds without
/// classic steps between; a `round` record follows for each round. Lines of
/// several sequences may be mixed.

/// Which sequence a record is about.
struct sequence_name {
  std::string request;
  std::int64_t choice = 0;
  friend bool operator<(const sequence_name& a, const sequence_name& b) {
    return std::tie(a.request, a.choice) < std::tie(b.request, b.choice);
  }
  friend bool operator==(const sequence_name&, const sequence_name&) = default;
};

/// What a sequence's rounds are checked by. JSON: request, choice,
/// prompt_tokens, last_token, budget, context, stop_tokens, widths, seed,
/// drafter.
struct transcript_sequence {
  sequence_name name;
  std::int64_t prompt_tokens = 0;
  /// The prompt's last token.
  token_id last_token = 0;
  /// Tokens that may be generated, a stop token included.
  std::int64_t budget = 0;
  /// Positions there are.
  std::int64_t context = 0;
  std::vector<token_id> stop_tokens;
  /// Legal widths of a verify block; 1 always is.
  width_set widths;
  std::uint64_t seed = 0;
  std::string drafter;
};

/// JSON: request, choice, burst, generated, last_token, cache, verdict.
struct transcript_burst {
  sequence_name name;
  /// 0, 1, ... in the sequence.
  std::int64_t burst = 0;
  /// Tokens generated before it, by whatever means.
  std::int64_t generated = 0;
  /// The last of the sequence's tokens before it.
  token_id last_token = 0;
  /// The cache's length, in positions.
  std::int64_t cache = 0;
  /// The verdict in force: "equal", or "allow_inexact" for an escape.
  std::string verdict;
};

/// JSON: request, choice, burst, round, width, position, anchor, drafts, picks,
/// accepted, emitted, cache_before, cache_after, seed, sampler_position,
/// verdict, end.
struct transcript_round {
  sequence_name name;
  std::int64_t burst = 0;
  /// 0, 1, ... in the burst.
  std::int64_t round = 0;
  std::int64_t width = 1;
  /// Of the anchor.
  std::int64_t position = 0;
  token_id anchor = 0;
  std::vector<token_id> drafts;
  /// The target's pick a row; -1: in error, or not picked.
  std::vector<token_id> picks;
  std::int64_t accepted = 0;
  std::vector<token_id> emitted;
  std::int64_t cache_before = 0;
  std::int64_t cache_after = 0;
  /// Of the sampler: the noise of row i is that of sampler_position + i.
  std::uint64_t seed = 0;
  std::int64_t sampler_position = 0;
  std::string verdict;
  round_end end = round_end::none;
};

using transcript_record =
    std::variant<transcript_sequence, transcript_burst, transcript_round>;

/// One line of JSON with its newline, the fields in the order given above after
/// "record": "sequence", "burst" or "round".
std::string to_line(const transcript_record& record);

struct transcript_entry {
  /// From 1.
  std::size_t line = 0;
  transcript_record record;
};

/// Reads lines. Strict: every field is there once and of its kind, and there is
/// no other. Throws input_error naming file, line and field.
std::vector<transcript_entry> parse_transcript(const std::string& file,
                                               std::string_view text);

/// The texts of a classic arm, by sequence.
using classic_texts = std::map<sequence_name, std::vector<token_id>>;

/// Reads lines {"request": ..., "choice": ..., "tokens": [...]}, as strictly.
classic_texts parse_classic_texts(const std::string& file,
                                  std::string_view text);

}  // namespace vouch::engine
