#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/speculation/drafter.hpp"

namespace vouch::engine {

enum class script : std::uint8_t {
  right,
  wrong,
  /// Right in a sequence's first round, wrong in its second, and so on.
  alternating,
  /// Any token.
  random,
  /// Right with a given probability at each position, else wrong.
  probable,
  /// Nothing.
  empty,
};

/// The token that the target picks after a history; negative: not known. A
/// proposal ends there, unless a draft before was wrong: then it goes on with
/// any token, so that a block is as wide as it was asked for.
using draft_oracle = std::function<token_id(std::span<const token_id>)>;

/// Of whole texts (prompt and continuation) known beforehand: the next token of
/// the first text that begins with the history.
draft_oracle oracle_of_texts(std::vector<std::vector<token_id>> texts);

struct scripted_options {
  script mode = script::right;
  /// For `probable`: of draft 0, 1, ...; the last one goes on. In [0, 1], and
  /// each given that the drafts before were right.
  std::vector<double> probabilities;
  std::uint64_t seed = 0;
  /// The target's; >= 2, as there is no wrong token otherwise.
  token_id vocabulary = 0;
  int max_width = max_round_width;
  draft_oracle oracle;
};

/// Drafts of a known quality, for tests and for pricing. A draft is a function
/// of (seed, position, index in its block) and of the oracle, so it does not
/// depend on when it is made, or for whom.
class scripted_drafter : public drafter {
 public:
  /// Declines with drafter_mismatch for a vocabulary below 2.
  /// Throws std::invalid_argument for options that make no script.
  static drafter_load make(scripted_options options);

  drafter_kind kind() const override { return drafter_kind::scripted; }
  int max_width() const override { return options_->max_width; }
  bool is_free() const override { return true; }
  std::unique_ptr<sequence_drafter> open() const override;

 private:
  explicit scripted_drafter(std::shared_ptr<const scripted_options> options)
      : options_{std::move(options)} {}
  std::shared_ptr<const scripted_options> options_;
};

}  // namespace vouch::engine
