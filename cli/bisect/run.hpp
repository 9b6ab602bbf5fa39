#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bisect/options.hpp"
#include "engine/bisect/bisect.hpp"
#include "engine/bisect/op_runs.hpp"

namespace vouch::cli::bisect {

enum class result : std::uint8_t {
  /// Every byte that was compared was equal.
  holds,
  differs,
  /// A planted fault changed nothing, a step failed, or nothing was compared.
  showed_nothing,
};

struct outcome {
  result came = result::holds;
  /// Why it showed nothing.
  std::string why;
  /// Device and dispatch target.
  std::string device;
  /// Faults that were planted.
  std::string faults;
  engine::bisect_case played;
  engine::bisect_report report;
  /// Of --op, instead of the three above.
  std::vector<engine::op_line> ops;
};

/// Throws engine::input_error.
outcome run(const options& chosen);

}  // namespace vouch::cli::bisect
