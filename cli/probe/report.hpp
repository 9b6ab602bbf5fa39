#pragma once

#include <cstdint>
#include <string>

#include "cli/probe/options.hpp"
#include "cli/probe/run.hpp"

namespace vouch::cli::probe {

/// The table's head, and one scenario as a line of it.
void print_head();
void print_line(const engine::probe_line& line);
/// Verdicts, counts by kind, time.
void print_end(const outcome& found);
/// The same for programs.
std::string to_json(const options& chosen, const outcome& found);
enum class result : std::uint8_t {
  /// Every verdict is `equal`.
  holds,
  /// Something differs.
  differs,
  /// Nothing differs, and something was not measured.
  not_run,
};
result result_of(const outcome& found);

}  // namespace vouch::cli::probe
