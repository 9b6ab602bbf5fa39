#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "engine/speculation/drafter.hpp"
#include "engine/speculation/round.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// How often the draft at an index of its block was accepted, given that those
/// before it were: moving averages, by evidence and index.
class acceptance_counts {
 public:
  /// An observation loses all but 1/e of its weight in `memory` more. Two in a
  /// row that surprise in the same way take away up to the share `doubt` of
  /// what was seen before them, so that a change of text is followed within a
  /// few rounds, and one stray draft changes little.
  explicit acceptance_counts(double memory, double doubt = 0.0)
      : keep_{1.0 - 1.0 / memory}, doubt_{doubt} {}

  void observe(int evidence, int index, bool accepted) {
    auto& at = cells_[cell(evidence, index)];
    const double came = accepted ? 1.0 : 0.0;
    double keep = keep_;
    if (at.trials > 0.0) {
      const double surprise = came - at.accepted / at.trials;
      const double both = std::max(0.0, surprise * at.surprise);
      keep *= 1.0 - doubt_ * both * both;
      at.surprise = surprise;
    }
    at.trials = at.trials * keep + 1.0;
    at.accepted = at.accepted * keep + came;
  }
  /// The weight of what was seen.
  double trials(int evidence, int index) const {
    return cells_[cell(evidence, index)].trials;
  }
  /// The rate, where `guess` counts as `weight` observations.
  double rate(int evidence, int index, double guess, double weight) const {
    const auto& at = cells_[cell(evidence, index)];
    return (at.accepted + weight * guess) / (at.trials + weight);
  }

 private:
  struct counts {
    double trials = 0.0;
    double accepted = 0.0;
    double surprise = 0.0;
  };
  static std::size_t cell(int evidence, int index) {
    return static_cast<std::size_t>(evidence) * (max_round_width - 1) +
           static_cast<std::size_t>(index);
  }
  std::array<counts, std::size_t{evidence_classes} * (max_round_width - 1)>
      cells_{};
  double keep_;
  double doubt_;
};

/// Compares proposals with the text that came. A draft is accepted if and only
/// if it equals the target's own pick, so a draft that nobody verified is
/// judged as well, later and for nothing, by the tokens that classic steps or
/// other rounds emit.
class draft_judge {
 public:
  /// evidence, index in the block, accepted.
  using told = std::function<void(int, int, bool)>;

  /// `emitted` came where `proposal` (which may be empty) had been drafted. A
  /// proposal that is longer and right so far waits for the next tokens; one
  /// does at a time.
  void judge(const draft& proposal, std::span<const token_id> emitted,
             const told& tell) {
    if (next_ < waiting_.tokens.size()) {
      next_ = compare(waiting_, next_, emitted, tell);
    }
    const auto seen = compare(proposal, 0, emitted, tell);
    if (next_ >= waiting_.tokens.size() && seen < proposal.tokens.size()) {
      waiting_ = proposal;
      next_ = seen;
    }
  }

 private:
  /// The index to go on at; past the end where the proposal is done with.
  static std::size_t compare(const draft& proposal, std::size_t from,
                             std::span<const token_id> emitted,
                             const told& tell) {
    const auto size = proposal.tokens.size();
    for (const token_id token : emitted) {
      if (from >= size || from >= max_round_width - 1) return size;
      const bool accepted = proposal.tokens[from] == token;
      tell(proposal.evidence, static_cast<int>(from), accepted);
      if (!accepted) return size;
      ++from;
    }
    return from;
  }

  draft waiting_;
  std::size_t next_ = 0;
};

}  // namespace vouch::engine
