#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/types.hpp"

namespace vouch::cli::compare {

struct answer_token {
  /// -1: not known, as over HTTP.
  engine::token_id id = -1;
  std::string text;
  /// Of the model's own distribution.
  float logprob = 0.0F;
  /// hash64 of the logits row behind it.
  std::optional<std::uint64_t> logits;
};

/// What one prompt was answered with.
struct answer {
  std::string request;
  std::string text;
  /// A token that ended the text is not among them.
  std::vector<answer_token> tokens;
  /// "stop" or "length".
  std::string finish;
};

/// What happened in verify blocks; nothing where an arm cannot know it.
struct round_counts {
  std::int64_t rounds = 0;
  std::int64_t drafted = 0;
  /// Drafts that became text.
  std::int64_t accepted = 0;
  /// Rounds behind which rows were taken back.
  std::optional<std::int64_t> rewinds;
  /// By index in the block: drafts before which all were accepted, and of them
  /// those that were accepted too.
  std::vector<std::int64_t> reached;
  std::vector<std::int64_t> taken;

  /// `accepted_here`: of the drafts, before any cut of the text.
  void count_positions(std::size_t drafts, std::size_t accepted_here);
};

/// One run of one configuration over all prompts.
struct arm {
  /// "classic", "lookup, width 4", ...
  std::string name;
  /// From 1.
  int run = 1;
  /// Nothing may be drafted in it.
  bool classic = false;
  /// In the order of the prompts.
  std::vector<answer> answers;
  round_counts rounds;
  /// How many answers were declined, by reason.
  std::map<std::string, std::int64_t> declines;
  double seconds = 0.0;
  /// What it could not do; empty: it ran.
  std::string error;

  std::int64_t tokens() const;
  double rate() const;
};

}  // namespace vouch::cli::compare
