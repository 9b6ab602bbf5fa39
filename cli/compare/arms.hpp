#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/compare/arm.hpp"
#include "cli/compare/options.hpp"

namespace vouch::cli::compare {

/// Told of every arm that has run.
using arm_observer = std::function<void(const arm&)>;

/// The classic arm `runs` times, then each drafter at each width as often, on
/// one model in this process. A drafter that cannot be used is an arm with an
/// error. Throws engine::input_error.
std::vector<arm> run_model(const options& chosen,
                           const std::vector<std::string>& prompts,
                           const arm_observer& observe);

/// The classic arm `runs` times on the first server, then each server as often
/// with speculation on. Throws engine::input_error for a server that cannot be
/// reached.
std::vector<arm> run_servers(const options& chosen,
                             const std::vector<std::string>& prompts,
                             const arm_observer& observe);

}  // namespace vouch::cli::compare
