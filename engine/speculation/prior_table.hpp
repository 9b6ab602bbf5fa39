#pragma once

#include <array>
#include <string>
#include <string_view>

#include "engine/speculation/drafter.hpp"

namespace vouch::engine {

/// A first guess at how often drafts are accepted, until that was seen: each
/// rate given that the drafts before it were accepted.
struct acceptance_prior {
  struct rates {
    /// Of a block's first draft.
    double first = 0.0;
    /// Of each after it.
    double later = 0.0;
  };
  /// By the drafter's evidence.
  std::array<rates, evidence_classes> by_evidence{};
  /// Which row of the table it is, for the log: "lookup, *, *".
  std::string source;
};

/// The table's row for a drafter on a device ("cpu", "cuda") with weights of a
/// format ("q4_1", "bf16"): the most particular one that fits. Never fails; the
/// last rows fit any device and format.
acceptance_prior find_prior(drafter_kind kind, std::string_view device,
                            std::string_view weights);

}  // namespace vouch::engine
