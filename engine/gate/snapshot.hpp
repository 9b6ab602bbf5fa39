#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/gate/scope.hpp"
#include "engine/gate/verdict.hpp"
#include "engine/speculation/decline.hpp"

namespace vouch::engine {

/// What an audited row was, when it was served.
enum class audit_kind : std::uint8_t { prefill, cached, classic, burst };
inline constexpr int audit_kinds = 4;
/// "prefill", "cached", "classic", "burst".
std::string_view name_of(audit_kind kind);

/// How an audited row compared.
enum class audit_result : std::uint8_t { equal, differs };
inline constexpr int audit_results = 2;
/// "equal", "differs".
std::string_view name_of(audit_result result);

/// What the audit has done since the start.
struct audit_counts {
  /// Rows, by kind and result.
  std::array<std::array<std::int64_t, audit_results>, audit_kinds> rows{};
  /// Draws that could not be compared: memory was short, or too many waited.
  std::int64_t dropped = 0;
  /// Time of its steps.
  double seconds = 0.0;
  /// Of the time of all steps: asked for, and had so far.
  double share = 0.0;
  double share_had = 0.0;
  /// It had much less than was asked for: `equal` is shown as `equal,
  /// unaudited`.
  bool shortfall = false;
};

/// How the gate stands now, for operators: GET /speculation, metrics, the log.
struct gate_snapshot {
  verdict_scope scope;
  /// scope_id(scope).
  std::string id;
  verdict_table verdicts;
  /// What is served now.
  rung serves = rung::unvouched;
  /// The verdict in force, as speculation_report::verdict has it.
  std::string verdict = "not_run";
  /// Why verify blocks are declined; nothing where some width is open.
  std::optional<decline> closed;
  /// Rows below this position are vouched for as they are served now; 0: none.
  std::int64_t vouched_positions = 0;
  /// The probe has work left.
  bool probing = false;
  /// Rows of logits, and positions of K and V, that it has compared in this
  /// process, and the time of its steps.
  std::int64_t probe_rows = 0;
  std::int64_t probe_kv_rows = 0;
  double probe_seconds = 0.0;
  audit_counts audit;
  /// In this process.
  std::int64_t trips = 0;
};

}  // namespace vouch::engine
