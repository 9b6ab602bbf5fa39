#pragma once

#include "engine/executor/executor.hpp"
#include "engine/gate/unit.hpp"
#include "engine/schedule/burst.hpp"

namespace vouch::engine {

/// Between the ids of a private scheduler, which plans over blocks and slots
/// 0 ... n - 1, and those that were lent.
class loan_map {
 public:
  loan_map() = default;
  explicit loan_map(loan lent);

  const loan& lent() const { return lent_; }
  /// `served` with no more blocks and slots than were lent.
  executor_limits limits(executor_limits served) const;

  /// Ids as the executor knows them. Throw std::out_of_range.
  block_id block(block_id own) const;
  slot_id slot(slot_id own) const;
  std::vector<block_id> blocks(const std::vector<block_id>& own) const;
  /// All ids of a step, in place.
  void lay(scheduler::planned_step& planned) const;

 private:
  loan lent_;
};

}  // namespace vouch::engine
