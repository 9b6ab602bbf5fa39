#pragma once

#include <cstdint>

namespace vouch::kernels {

/// The weights of a softmax that is not normalised: out[i] =
/// exp((x[i] - largest) / temperature), which is 1 for the largest value and 0
/// for minus infinity. n floats; none is a NaN.
void softmax_weights(const float* x, std::int64_t n, float largest,
                     float temperature, float* out);

/// A weight in units of 2^-40, rounded down. Sums of these are exact, so they
/// do not depend on the order in which weights were added up.
inline std::uint64_t softmax_mass(float weight) {
  return static_cast<std::uint64_t>(
      static_cast<std::int64_t>(weight * 0x1p40F));
}

/// Sum of softmax_mass over the weights of n values, each in [0, 1].
std::uint64_t softmax_mass(const float* x, std::int64_t n, float largest,
                           float temperature);

namespace reference {
void softmax_weights(const float* x, std::int64_t n, float largest,
                     float temperature, float* out);
std::uint64_t softmax_mass(const float* x, std::int64_t n, float largest,
                           float temperature);
}  // namespace reference

}  // namespace vouch::kernels
