#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "engine/executor/executor.hpp"

namespace vouch::actors {

struct engine_state {
  static inline const char* name = "engine";

  /// Destroyed with the actor, on its own thread, after the steps in flight.
  std::shared_ptr<engine::executor> device;
};

/// Hands steps to `device`. A completion comes on a thread of the device's and
/// goes to whoever sent the step, if it still lives.
engine_actor::behavior_type engine_behavior(
    engine_actor::stateful_pointer<engine_state> self,
    std::shared_ptr<engine::executor> device);

}  // namespace vouch::actors
