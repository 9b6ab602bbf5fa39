#pragma once

#include <chrono>

#include <caf/all.hpp>

#include "actors/interfaces.hpp"

namespace vouch::runtime {

/// Ends the actors in order: requests first (their clients receive
/// failed{cancelled}), then SCHEDULER, ENGINE with its executor, LOADER and
/// SUPERVISOR, each when the one before has gone. Requests that were submitted
/// before the call are seen before it. Returns false when the deadline passed,
/// which a step that never ends would cause; it is logged.
bool shut_down(caf::actor_system& system,
               const actors::supervisor_actor& supervisor,
               std::chrono::seconds deadline = std::chrono::seconds{60});

}  // namespace vouch::runtime
