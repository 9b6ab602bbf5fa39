#pragma once

#include <functional>

#include "engine/executor/executor.hpp"
#include "engine/gate/unit.hpp"

namespace vouch::engine {

/// Queues a unit behind what `device` has to do, without waiting. `done` is
/// called once, on a thread of the executor's. Rows that were to be read are
/// not (gate_unit_result::reads is empty): that needs a device to oneself.
void submit_unit(executor& device, gate_unit unit,
                 std::function<void(gate_unit_result)> done);

}  // namespace vouch::engine
