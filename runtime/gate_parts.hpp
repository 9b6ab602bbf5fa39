#pragma once

#include <memory>

#include "actors/gate_setup.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/executor/executor.hpp"
#include "engine/speculation/drafter.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::runtime {

/// What a gate measures when it measures these: all of the scope but the rows
/// of a step and of a chunk, which the policy says.
engine::verdict_scope make_scope(const engine::checkpoint& source,
                                 const engine::cpu_executor_options& device,
                                 const engine::drafter_load& drafter);

/// engine::built_in_prompts() in a model's tokens.
std::vector<engine::probe_prompt> built_in_prompts(
    const engine::tokenizer& words);

/// How the gate is made for what `out.parts` serves: its scope, what it probes
/// with, where its verdicts are kept. `device` is what the executor is made
/// with, `drafter` what was loaded (load_speculation).
actors::make_gate_setup gate_parts(const config& settings,
                                   const engine::checkpoint& source,
                                   const engine::cpu_executor_options& device,
                                   const engine::drafter_load& drafter,
                                   const components& out);

}  // namespace vouch::runtime
