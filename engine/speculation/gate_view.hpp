#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/schedule/burst.hpp"
#include "engine/speculation/decline.hpp"

namespace vouch::engine {

/// What the gate says now, for whoever serves by it.
struct gate_view {
  burst_rules rules;
  /// As speculation_report::verdict.
  std::string verdict = "not_run";
  std::string scope;
  /// Why verify blocks are declined; nothing where some width is open.
  std::optional<decline_reason> closed;
  std::string detail;
  /// Classic rows below this position are vouched for; 0: none.
  std::int64_t vouched_positions = 0;
  friend bool operator==(const gate_view&, const gate_view&) = default;
};

}  // namespace vouch::engine
