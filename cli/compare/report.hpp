#pragma once

#include <string>
#include <vector>

#include "cli/compare/arm.hpp"
#include "cli/compare/judge.hpp"
#include "cli/compare/options.hpp"

namespace vouch::cli::compare {

/// One line for an arm, as it ends.
void print_arm(const arm& of);
/// The table and what failed.
void print_verdicts(const std::vector<arm>& arms,
                    const std::vector<verdict>& verdicts);
std::string to_json(const options& chosen,
                    const std::vector<std::string>& prompts,
                    const std::vector<arm>& arms,
                    const std::vector<verdict>& verdicts);

}  // namespace vouch::cli::compare
