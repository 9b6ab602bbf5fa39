#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/speculation/decline.hpp"
#include "engine/speculation/drafter.hpp"

namespace vouch::engine {

/// How speculation stands now, but for the gate: what an operator looks at.
struct speculation_status {
  /// As it was configured: "lookup", "none", a path.
  std::string drafter = "none";
  /// Of the drafter that was loaded; nothing: none was.
  std::optional<drafter_kind> kind;
  /// Why it was not, or why nothing is drafted now.
  std::optional<decline> declined;
  /// Rows of the widest block that is configured.
  int width = 0;

  // Escapes: with any of them an answer is not vouched for.
  bool allow_inexact = false;
  /// Kernel plan: "invariant", "fast".
  std::string plan = "invariant";
  std::vector<std::string> faults;
  bool escapes() const {
    return allow_inexact || plan != "invariant" || !faults.empty();
  }

  /// "auto", "fixed".
  std::string controller = "auto";
  /// Row of the table of first guesses (acceptance_prior::source).
  std::string prior;
  /// What the last width was decided by (name_of(width_source)).
  std::string decided_by = "none";
  /// The expected rate of the draft at an index of its block, given that those
  /// before it were accepted, over all sequences; by the drafter's evidence.
  std::array<std::vector<double>, evidence_classes> acceptance;
};

}  // namespace vouch::engine
