#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/gate/loan_map.hpp"
#include "engine/gate/scenario.hpp"
#include "engine/gate/unit.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::engine {

/// What the arms are run with: as the server, where a scenario says nothing
/// else.
struct arm_setup {
  policy rules;
  executor_limits limits;
  token_id vocabulary = 0;
  std::optional<token_id> mask;
  /// For draft_pattern::live: one that needs no device, or the executor's own;
  /// or neither.
  std::shared_ptr<const drafter> live;
  bool live_on_device = false;
  /// Planted in the schedule, as in the server's; may be empty.
  std::shared_ptr<const fault_plan> faults;

  bool has_live() const { return live != nullptr || live_on_device; }
};

/// A row whose input, and all input before it, is the sequence's text: one that
/// must be as the classic arm's. Of a verify block: rows 0 ... accepted.
struct arm_row {
  std::size_t sequence = 0;
  row_kind kind = row_kind::prefill;
  /// Rows of its item, and its index among them.
  std::int32_t width = 1;
  std::int32_t row = 0;
  std::int64_t position = 0;
  /// Nothing: the row has no logits.
  std::optional<std::uint64_t> logits;
  logits_state state = logits_state::sound;
  /// -1: no pick.
  token_id pick = -1;
  std::uint64_t kv = 0;
};

/// A verify block that ran.
struct arm_round {
  std::size_t sequence = 0;
  std::int32_t width = 1;
  std::int32_t accepted = 0;
};

/// What a unit of an arm showed.
struct arm_step {
  std::vector<arm_row> rows;
  std::vector<arm_round> rounds;
  /// Of sequences that have ended: K and V of all their positions as they stand
  /// at the end.
  struct ended {
    std::size_t sequence = 0;
    /// Tokens it generated, a stop token not counted.
    std::int64_t tokens = 0;
    std::vector<std::uint64_t> kv;
  };
  std::vector<ended> ends;
  /// The step, or an item of it, could not be computed, or its hashes are
  /// missing.
  struct failure {
    std::size_t sequence = 0;
    std::int64_t position = -1;
    std::string what;
    /// Nothing was computed, so there is nothing to compare.
    bool broken = false;
  };
  std::optional<failure> failed;
  double seconds = 0.0;
};

/// Plays a scenario through a scheduler of its own, over lent memory:
/// admission, planning, verify rows, rollback, prefix cache and preemption are
/// the functions that serve. Units come out one at a time.
class arm_run {
 public:
  /// `texts` outlive the run. `building`: the texts are only prompts so far,
  /// and every row counts as theirs.
  arm_run(scenario played, std::span<const probe_text> texts,
          const arm_setup& setup, loan_map map, bool building = false);

  /// The next unit; nothing while one is out, or when all is done.
  std::optional<gate_unit> next();
  arm_step take(const gate_unit_result& result);

  bool done() const { return phase_ == phase::done; }
  /// The unit that gave the last take() its rows, as it ran, for a replay.
  const scheduler::planned_step& last() const { return sent_; }
  const scheduler_stats& stats() const { return stats_; }
  /// Sequences that began with rows of the prefix cache.
  std::int64_t cache_hits() const { return cache_hits_; }
  const scenario& played() const { return played_; }
  /// Tokens that a sequence has, its prompt's too.
  std::vector<token_id> tokens_of(std::size_t sequence) const {
    return members_[sequence].tokens;
  }

 private:
  enum class phase : std::uint8_t { running, closing, done };
  struct member {
    std::vector<token_id> tokens;
    std::unique_ptr<sequence_drafter> drafts;
    bool added = false;
    bool ended = false;
    /// Its blocks, as the executor knows them, when it last had rows.
    std::vector<block_id> blocks;
  };

  void add_due();
  void offer_drafts();
  /// What the device's drafter is to be asked before the next step.
  draft_batch drafts_to_ask() const;
  bool drafts_on_device(std::size_t sequence) const {
    return setup_.live_on_device &&
           played_.sequences[sequence].pattern == draft_pattern::live;
  }
  bool all_ended() const;
  gate_unit unit_of(scheduler::planned_step planned);
  gate_unit closing_unit();
  step_result in_plan_order(const step_result& result) const;
  void read_item(const step_item& item, const step_item_result& result,
                 std::span<const std::uint64_t> kv, std::size_t sequence,
                 arm_step& seen) const;
  bool is_text(const member& m, std::size_t sequence, std::int64_t position,
               token_id token) const;

  scenario played_;
  std::span<const probe_text> texts_;
  arm_setup setup_;
  loan_map map_;
  bool building_;
  scheduler schedule_;
  std::vector<member> members_;
  std::mt19937_64 random_;
  phase phase_ = phase::running;
  bool out_ = false;
  std::int64_t steps_ = 0;
  /// Of the device's drafter, for the next step; nothing: not asked yet.
  std::optional<draft_result> device_drafts_;
  bool asking_ = false;
  /// The step that is out: as planned, and as sent; items of the latter are in
  /// this order of the former.
  scheduler::planned_step planned_;
  scheduler::planned_step sent_;
  std::vector<std::size_t> order_;
  /// Sequences whose end is to be hashed.
  std::vector<std::size_t> just_ended_;
  scheduler_stats stats_;
  std::int64_t cache_hits_ = 0;
  std::string stuck_;
};

}  // namespace vouch::engine
