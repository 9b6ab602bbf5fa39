#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/speculation/decline.hpp"

namespace vouch::engine {

/// What speculation did for one sequence so far, and what stands behind its
/// text: for its client, not for any decision.
struct speculation_report {
  /// The verdict in force, by name: "equal", "not_run", "diverges", "tripped",
  /// "allow_inexact" or "fast". For a sequence that a trip touched: "tripped".
  std::string verdict = "not_run";
  /// What the verdict is about; empty without a gate.
  std::string scope;
  /// Every row behind the text ran as the gate has vouched for.
  bool vouched = false;
  /// Rows ran that the gate would have declined, because an escape
  /// (allow_inexact, the fast plan, planted faults) says so.
  bool inexact = false;

  /// Rows of the widest block that was verified; 1: classic throughout.
  int width = 1;
  /// Blocks that were verified.
  std::int64_t rounds = 0;
  /// Drafts in them.
  std::int64_t drafted = 0;
  /// Of these, what was emitted (round_outcome::accepted_emitted).
  std::int64_t accepted = 0;
  std::int64_t rejected() const { return drafted - accepted; }
  /// Rows that were drawn for the audit, compared already or to be.
  std::int64_t audited = 0;

  /// Why it was not speculated for, or no longer; nothing where nothing
  /// declined.
  std::optional<decline_reason> declined;
  /// The decline's, for a person; may be empty.
  std::string detail;

  /// A block of `rows` rows was verified, `emitted` of its drafts emitted.
  void count_round(int rows, int emitted) {
    width = std::max(width, rows);
    ++rounds;
    drafted += rows - 1;
    accepted += emitted;
  }
};

}  // namespace vouch::engine
