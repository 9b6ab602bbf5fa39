#pragma once

#include "engine/executor/executor.hpp"
#include "engine/models/model.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::runtime {

/// Loads the configured drafter for `target` into `out.parts` and, where it
/// runs on the executor, into `device`. Never fails: what declines is logged
/// and reported.
void load_speculation(const config& settings, const engine::model& target,
                      engine::cpu_executor_options& device,
                      kernels::thread_pool& pool, components& out);

}  // namespace vouch::runtime
