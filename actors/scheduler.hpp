#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "actors/board.hpp"
#include "actors/burst_desk.hpp"
#include "actors/gate_desk.hpp"
#include "actors/interfaces.hpp"
#include "actors/metrics.hpp"
#include "actors/sequence_owners.hpp"
#include "actors/step_watch.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::actors {

/// What SCHEDULER is made with.
struct scheduler_setup {
  engine_actor engine;
  std::shared_ptr<const serving> model;
  engine::policy rules;
  int steps_in_flight = 1;
  std::shared_ptr<metrics> counters;
  std::shared_ptr<board> notices;
  engine::step_cost_model costs;
  /// May be nullptr: nobody drafts.
  drafter_actor drafter;
  burst_setup bursts;
  /// May be nullptr: nothing is vouched for.
  gate_actor gate;
  engine::audit_options audit;
};

struct scheduler_state {
  static inline const char* name = "scheduler";

  scheduler_setup setup;
  /// Decides everything; this actor only translates.
  std::optional<engine::scheduler> schedule;
  sequence_owners owners;
  /// Requests that were promised a place and have not submitted yet.
  std::unordered_set<caf::actor_addr> reserved;
  step_watch watch;
  struct step_size {
    std::int64_t rows;
    std::int64_t logits_rows;
  };
  /// Of the steps in flight, oldest first.
  std::deque<step_size> step_sizes;
  /// What steps cost: measured at the start, kept true by those that ran.
  engine::step_cost_model costs;
  /// Drafting, rounds and their reports.
  std::optional<burst_desk> desk;
  /// DRAFTER has been asked; the next step is planned when it has answered.
  bool drafting = false;
  /// Memory and time that the gate gets.
  std::optional<gate_desk> gate;
  /// A verdict is being tripped.
  bool paused = false;
  bool tick_pending = false;

  /// All choices or none.
  admission add(submission& choices, const caf::strong_actor_ptr& owner,
                std::int64_t now_ms);
  void abort(engine::sequence_id id);
  bool queue_has_room() const;
  /// The oldest step in flight has ended.
  void count_step(const engine::step_result& result);

  /// Sequences are numbered through the life of the process.
  static engine::sequence_id next_ids(std::size_t count);
};

/// Continuous batching is this actor's mailbox order: whatever arrived while a
/// step ran is seen before the next one is planned.
scheduler_actor::behavior_type scheduler_behavior(
    scheduler_actor::stateful_pointer<scheduler_state> self,
    scheduler_setup setup);

}  // namespace vouch::actors
