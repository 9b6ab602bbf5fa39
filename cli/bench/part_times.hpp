#pragma once

#include <memory>
#include <vector>

#include "cli/bench/figures.hpp"
#include "cli/bench/plan.hpp"
#include "cli/bench/text.hpp"

namespace vouch::cli::bench {

/// Where the time of a decode step, of the largest batch's, of a verify step
/// and of a prompt goes: medians of `repeat` runs, on an executor of its own
/// that profiles (the other figures are not slowed by the clock).
std::vector<part_times> measure_parts(
    const plan& planned, const std::shared_ptr<engine::model>& model,
    engine::cpu_executor_options settings, const prompts& texts, int repeat);

}  // namespace vouch::cli::bench
