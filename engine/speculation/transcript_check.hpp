#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/speculation/transcript.hpp"

namespace vouch::engine {

/// What a transcript must keep to. It is written down here without round.hpp's
/// functions, so that a defect of theirs shows.
enum class transcript_rule : std::uint8_t {
  /// There are rounds at all.
  rounds,
  /// A sequence is described once, before its bursts.
  sequence,
  /// Bursts count from 0 without a gap; a round belongs to the last one begun.
  burst,
  /// A burst begins where its sequence stood: tokens generated, cache length.
  burst_start,
  /// The verdict allows a burst ("equal", "allow_inexact") and stays.
  verdict,
  /// Rounds count from 0 without a gap.
  round_order,
  /// The first anchor is the last token before the burst.
  first_anchor,
  /// Every other anchor is the last token that the round before emitted.
  anchor,
  /// Anchor and sampler stand at prompt + generated - 1.
  position,
  sampler_position,
  /// The sampler's seed is the sequence's.
  seed,
  /// There are width - 1 drafts and width picks.
  rows,
  /// The width is legal, at most budget left + 1, and inside the context.
  width,
  /// accepted is the longest common prefix of drafts and picks.
  accepted,
  /// emitted is drafts[0 ... accepted) and picks[accepted], or that cut short.
  emitted,
  /// Nothing is emitted after a stop token, past the budget, past the context.
  stop_cut,
  budget_cut,
  context_cut,
  /// The end that is recorded is the one that tokens and limits give.
  end,
  /// No round follows a sequence's end.
  after_end,
  /// The cache holds what came before the anchor, and grows by what is emitted.
  cache_before,
  cache_after,
  /// The classic arm has the same tokens.
  classic,
};

/// "rounds", "sequence", ...
std::string_view name_of(transcript_rule rule);

struct transcript_failure {
  transcript_rule rule = transcript_rule::rounds;
  /// 0: not about a line.
  std::size_t line = 0;
  sequence_name name;
  /// -1 where it is not about one.
  std::int64_t burst = -1;
  std::int64_t round = -1;
  /// Of the round's block: the row that picked the token in question; or -1.
  std::int64_t row = -1;
  std::string detail{};
};

struct transcript_report {
  std::int64_t sequences = 0;
  std::int64_t bursts = 0;
  std::int64_t rounds = 0;
  std::int64_t drafted = 0;
  /// Accepted drafts that were emitted.
  std::int64_t accepted = 0;
  std::int64_t emitted = 0;
  /// Tokens that were compared with a classic arm's.
  std::int64_t compared = 0;
  /// In the order of the lines; a line's first failure is the one to look at.
  std::vector<transcript_failure> failures;

  bool holds() const { return failures.empty(); }
};

/// Checks every record against its sequence's records before it. With
/// `classic`, each sequence's first token that differs from the classic arm's
/// is reported as (burst, round, row).
transcript_report check_transcript(std::span<const transcript_entry> entries,
                                   const classic_texts* classic = nullptr);

}  // namespace vouch::engine
