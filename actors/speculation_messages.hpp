#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "engine/executor/draft_batch.hpp"
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

}  // namespace vouch::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::draft_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::actors::drafts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::draft_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::draft_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(vouch::engine::gate_view)
