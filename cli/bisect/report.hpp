#pragma once

#include <string>

#include "cli/bisect/options.hpp"
#include "cli/bisect/run.hpp"

namespace vouch::cli::bisect {

/// What was played and compared, and the ops of the first row that differs.
void print(const options& chosen, const outcome& found);
/// The same for programs.
std::string to_json(const options& chosen, const outcome& found);

}  // namespace vouch::cli::bisect
