#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "actors/interfaces.hpp"
#include "engine/speculation/drafter.hpp"

namespace vouch::actors {

/// What DRAFTER is made with.
struct drafter_setup {
  /// A drafter that needs no device; nullptr: ENGINE's executor hosts one.
  std::shared_ptr<const engine::drafter> host;
  engine_actor engine;
};

struct drafter_state {
  static inline const char* name = "drafter";

  drafter_setup setup;
  /// One a sequence: nobody's tokens are seen by another's.
  struct sequence {
    std::vector<engine::token_id> history;
    std::unique_ptr<engine::sequence_drafter> drafts;
  };
  std::unordered_map<engine::sequence_id, sequence> sequences;
  /// Orders that ENGINE works on.
  struct waiting {
    std::vector<engine::sequence_id> ids;
    std::uint64_t number = 0;
    caf::weak_actor_ptr asker;
  };
  std::map<std::uint64_t, waiting> batches;
  std::uint64_t last_batch = 0;
};

/// Turns orders into proposals: with a host drafter on its own thread, else by
/// handing ENGINE the slots to draft for.
drafter_actor::behavior_type drafter_behavior(
    drafter_actor::stateful_pointer<drafter_state> self, drafter_setup setup);

}  // namespace vouch::actors
