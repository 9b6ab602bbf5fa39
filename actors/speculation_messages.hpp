#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "engine/executor/draft_batch.hpp"
#include "engine/gate/unit.hpp"
#include "engine/schedule/burst.hpp"
#include "engine/speculation/gate_view.hpp"
#include "engine/speculation/speculator.hpp"

namespace vouch::actors {

// What SCHEDULER, DRAFTER, GATE and ENGINE tell each other about speculation.
// Local only. Messages carry slots and tokens, never tensors.

/// SCHEDULER to DRAFTER, before a step is planned: who may have a verify block.
struct draft_order {
  /// Returned with the answer.
  std::uint64_t number = 0;
  struct job {
    engine::draft_ask ask;
    /// Tokens that were added since the last order for this sequence, and how
    /// many it has with them.
    std::vector<engine::token_id> fresh;
    std::int64_t size = 0;
  };
  std::vector<job> jobs;
  /// Sequences that have ended.
  std::vector<engine::sequence_id> ended;
};

/// DRAFTER to SCHEDULER: one entry for each job that it has an answer for.
struct drafts {
  std::uint64_t number = 0;
  std::vector<engine::draft_answer> answers;
  double seconds = 0.0;
  /// Not empty: why there are fewer answers than jobs, for a log.
  std::string problem;
};

/// GATE to SCHEDULER: what its last unit's step cost.
struct step_cost {
  std::int64_t rows = 0;
  std::int64_t logits_rows = 0;
  double seconds = 0.0;
};

/// GATE to SCHEDULER: one unit of work for ENGINE, whose result goes to GATE.
struct gate_order {
  engine::gate_unit unit;
  /// Its share is not used up: it may run although requests wait. Otherwise it
  /// waits until nobody else wants the device.
  bool owed = false;
};

/// SCHEDULER to ENGINE: the same, and for whom.
struct gate_work {
  engine::gate_unit unit;
  caf::weak_actor_ptr gate;
};

/// GATE to SCHEDULER: memory that it needs. A loan answers, when there is as
/// much to spare.
struct loan_request {
  engine::gate_need need;
};

/// GATE to SCHEDULER: drawn items that it has done with.
struct audits_done {
  std::vector<std::uint64_t> holds;
  /// That their replays took.
  double seconds = 0.0;
};

/// SCHEDULER to GATE: what was served since the last time.
struct served_report {
  /// Time of its steps.
  double seconds = 0.0;
  std::vector<engine::audit_record> audited;
  /// Holds whose memory is gone.
  std::vector<std::uint64_t> dropped;
};

/// GATE to SCHEDULER: a verdict was tripped, its record is on the disk.
struct gate_trip {
  engine::gate_view view;
};

}  // namespace vouch::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::draft_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::drafts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::step_cost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::gate_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::gate_work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::loan_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::audits_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::served_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::gate_trip)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::loan)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::gate_unit_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::draft_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::draft_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::gate_view)
