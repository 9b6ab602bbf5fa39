#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executor/draft_batch.hpp"
#include "engine/executor/executor.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// A row whose bytes are wanted, to count how many of them differ.
struct row_read {
  /// Its logits, which the unit's step makes.
  slot_id slot = -1;
  std::int32_t position = 0;
  /// Not empty: K and V of the position in these blocks instead.
  std::vector<block_id> blocks;
};

/// A piece of the gate's work: at most one step, so that whoever arrives waits
/// for no longer than that. Slots and blocks are lent ones; the step's id means
/// something to the gate only.
struct gate_unit {
  /// Where `work.work` has no items there is nothing to submit: slots are
  /// released, K and V are hashed.
  scheduler::planned_step work;
  /// Hashed after the step.
  std::vector<kv_range> kv;
  /// Read with the step. May be left out.
  std::vector<row_read> reads;
  /// Asked of the device's drafter, in a unit without a step; no items: not.
  draft_batch drafts;
};

struct gate_unit_result {
  /// Where nothing was submitted, as it was made.
  step_result step;
  /// One hash a position, for each range.
  std::vector<std::vector<std::uint64_t>> kv;
  /// The bytes of each row that was to be read; empty: not read.
  std::vector<std::vector<std::byte>> reads;
  draft_result drafts;
};

/// What the gate would borrow of SCHEDULER.
struct gate_need {
  std::int64_t blocks = 0;
  int slots = 0;
  friend bool operator==(const gate_need&, const gate_need&) = default;
};

}  // namespace vouch::engine
