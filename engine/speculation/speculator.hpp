#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/schedule/burst.hpp"
#include "engine/speculation/controller.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/speculation/width_set.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

struct speculator_options {
  /// Rows of the widest block, the configured one's or the drafter's.
  int width = 8;
  /// drafter::is_free().
  bool is_free = true;
  /// Always the widest block that is legal, whatever it costs.
  bool fixed = false;
  controller_options controller;
};

/// A sequence to draft for.
struct draft_ask {
  sequence_id id = 0;
  slot_id slot = -1;
  /// Rows of the block.
  int width = 1;
};

/// What was drafted for it, or, decided, what of it a step should verify.
struct draft_answer {
  sequence_id id = 0;
  draft proposal;
};

/// Between the scheduler and whoever drafts: before each step, which sequences
/// are worth drafting for; once that is done, how much of it is worth a row;
/// after the step, what came of it. A plain value.
class speculator {
 public:
  /// Throws std::invalid_argument for controller options without step_seconds.
  explicit speculator(speculator_options options);

  /// Asks for one proposal each; a sequence that is left out stays classic.
  std::vector<draft_ask> ask(std::span<const draft_wish> wishes,
                             const width_set& vouched, const step_load& load);

  /// The drafts to offer to the next plan, of the proposals that came for the
  /// last ask (in any order; some may be missing). Sequences that are not in
  /// the result get a classic row.
  std::vector<draft_answer> decide(std::vector<draft_answer> proposals);
  /// The same where the step was planned without waiting: the proposals are
  /// only judged by what comes.
  void note(std::vector<draft_answer> proposals);
  /// Whether a proposal for the sequence may be worth waiting for: it is new,
  /// in a burst, or its last draft was right. Of a drafter that costs nothing
  /// the others can be asked beside the step.
  bool is_promising(sequence_id id) const { return !doubtful_.contains(id); }
  /// Sequences of the last ask that had drafts none of which paid.
  const std::vector<sequence_id>& unprofitable() const { return unprofitable_; }

  /// A decode or verify item of a sequence has ended.
  void observe(sequence_id id, const round_report& round);
  void forget(sequence_id id);

  const width_controller& controller() const { return controller_; }
  /// What the last width was decided by.
  width_source decided_by() const { return decided_by_; }

 private:
  speculator_options options_;
  width_controller controller_;
  /// Of the last ask.
  std::vector<width_request> requests_;
  std::vector<width_choice> choices_;
  width_source decided_by_ = width_source::none;
  width_set vouched_;
  step_load load_;
  /// What was proposed for the step in flight, all of it.
  std::unordered_map<sequence_id, draft> proposed_;
  std::unordered_set<sequence_id> doubtful_;
  std::vector<sequence_id> unprofitable_;
};

}  // namespace vouch::engine
