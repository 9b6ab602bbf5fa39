#pragma once

#include <cmath>

namespace vouch::kernels {

/// Every reduction over a row runs in 16 lanes: element i belongs to lane
/// i % 16, each lane sums in order, and the lanes are added as a fixed tree
/// (l with l + 8, l + 4, l + 2, l + 1). The targets hold the 16 lanes in one,
/// two or four registers, the reference in an array: all give the same bytes.
inline constexpr int lane_count = 16;

inline float sum_lanes(float* lanes) {
  for (int width = lane_count / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace vouch::kernels
