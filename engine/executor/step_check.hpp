#pragma once

#include <string>

#include "engine/executor/executor.hpp"
#include "engine/executor/slot_table.hpp"
#include "engine/executor/step.hpp"

namespace vouch::engine {

/// What is wrong with `work`, or empty. A step that passes touches no memory
/// outside the pool and writes no block that another of its items writes.
std::string check_step(const step& work, const executor_limits& limits,
                       std::int64_t vocab_size, const slot_table& slots);

}  // namespace vouch::engine
