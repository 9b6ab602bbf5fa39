#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/faults/fault_plan.hpp"
#include "kernels/plan.hpp"

namespace vouch::cli {

/// --plan, --fault and --threads, of the commands that run steps to compare
/// their bytes.
void add_kernel_options(CLI::App& command, std::string& plan,
                        std::vector<std::string>& faults,
                        std::int32_t& threads);

/// Of --plan. Throws engine::input_error.
kernels::kernel_plan read_plan(const std::string& name);
/// Of --fault; nullptr: none is planted. Throws engine::input_error.
std::shared_ptr<const engine::fault_plan> read_faults(
    const std::vector<std::string>& faults);

}  // namespace vouch::cli
