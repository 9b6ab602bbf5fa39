#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vouch::engine {

/// Why a request, or a round, goes on classically. A decline comes before any
/// state has changed and never fails a request; its name is a metric's label.
enum class decline_reason : std::uint8_t {
  no_drafter,
  /// The drafter does not fit the model: family, shape or vocabulary.
  drafter_mismatch,
  gate_diverges,
  gate_not_run,
  gate_tripped,
  request_opt_out,
  load,
  unprofitable,
  unsupported_sampling,
};

/// All of them, in order.
inline constexpr int decline_reasons = 9;

/// "no_drafter", "drafter_mismatch", ...
std::string_view name_of(decline_reason reason);
std::optional<decline_reason> decline_reason_of(std::string_view name);

struct decline {
  decline_reason reason = decline_reason::no_drafter;
  /// What was found and what was expected, for a person; may be empty.
  std::string detail;
};

}  // namespace vouch::engine
