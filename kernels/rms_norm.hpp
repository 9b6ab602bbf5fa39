#pragma once

#include <cstdint>

namespace vouch::kernels {

/// y[r][i] = weight[i] * x[r][i] / sqrt(mean over i of x[r][i]^2 + epsilon),
/// for `rows` contiguous rows of `n` floats. y may be x.
void rms_norm(const float* x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t n, float* y);

namespace reference {
void rms_norm(const float* x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t n, float* y);
}  // namespace reference

}  // namespace vouch::kernels
