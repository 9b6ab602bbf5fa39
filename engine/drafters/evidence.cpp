#include "engine/drafters/evidence.hpp"

#include <cmath>
#include <limits>

namespace vouch::engine {

std::optional<greedy_pick> greedy(std::span<const float> logits) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  if (logits.empty()) return {};
  std::size_t best = 0;
  float largest = lowest;
  float second = lowest;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const float x = logits[i];
    if (std::isnan(x)) return {};
    if (x > largest) {
      second = largest;
      largest = x;
      best = i;
    } else if (x > second) {
      second = x;
    }
  }
  if (largest == lowest) return {};
  return greedy_pick{static_cast<token_id>(best), largest - second};
}

int evidence_of(float margin) {
  if (margin < 1.0F) return 0;
  if (margin < 2.5F) return 1;
  return margin < 5.0F ? 2 : 3;
}

}  // namespace vouch::engine
