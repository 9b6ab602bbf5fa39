#include "kernels/rope.hpp"

#include <cmath>

namespace vouch::kernels {

rope_table::rope_table(std::span<const float> inverse_frequencies,
                       std::int64_t positions, float attention_factor)
    : half_{static_cast<int>(inverse_frequencies.size())},
      positions_{positions},
      values_(static_cast<std::size_t>(positions) * 2 *
              inverse_frequencies.size()) {
  float* out = values_.data();
  for (std::int64_t p = 0; p < positions; ++p) {
    for (int i = 0; i < half_; ++i) {
      const float angle =
          static_cast<float>(p) * inverse_frequencies[static_cast<unsigned>(i)];
      out[i] = static_cast<float>(std::cos(static_cast<double>(angle))) *
               attention_factor;
      out[half_ + i] =
          static_cast<float>(std::sin(static_cast<double>(angle))) *
          attention_factor;
    }
    out += 2 * half_;
  }
}

const float* rope_table::cosines(std::int64_t position) const {
  return values_.data() + position * 2 * half_;
}

const float* rope_table::sines(std::int64_t position) const {
  return cosines(position) + half_;
}

}  // namespace vouch::kernels
