#pragma once

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/executor/executor.hpp"
#include "engine/models/model.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::runtime {

/// Loads the configured drafter for `target` into `out.parts` and, where it
/// runs on the executor, into `device`; makes the gate's parts. A drafter that
/// does not fit fails nothing: its decline is reported.
void load_speculation(const config& settings, const engine::checkpoint& source,
                      const engine::model& target,
                      engine::cpu_executor_options& device,
                      kernels::thread_pool& pool, components& out);

}  // namespace vouch::runtime
