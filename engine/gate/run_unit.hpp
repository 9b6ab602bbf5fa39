#pragma once

#include "engine/executor/executor.hpp"
#include "engine/gate/unit.hpp"

namespace vouch::engine {

/// Runs a unit on a device that nobody else uses and waits for it, its reads
/// included.
gate_unit_result run_unit(executor& device, gate_unit unit);

}  // namespace vouch::engine
