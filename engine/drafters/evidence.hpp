#pragma once

#include <optional>
#include <span>

#include "engine/types.hpp"

namespace vouch::engine {

/// A row's largest logit.
struct greedy_pick {
  token_id token = -1;
  /// How far the second largest is below it.
  float margin = 0.0F;
};

/// Ties go to the lowest id. Empty for a row that holds a NaN, or nothing.
std::optional<greedy_pick> greedy(std::span<const float> logits);

/// A proposal's evidence, from the margin of its first draft's row: below 1, to
/// 2.5, to 5, and more (even odds against the second choice are a margin of 0).
int evidence_of(float margin);

}  // namespace vouch::engine
