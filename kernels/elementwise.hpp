#pragma once

#include <cstdint>

#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// y[i] = silu(gate[i]) * up[i], silu(x) = x / (1 + exp(-x)), with this
/// project's own exp (the same polynomial in every target and twin). n floats;
/// y may be gate.
void swiglu(const float* gate, const float* up, std::int64_t n, float* y);

/// x[i] += y[i], n floats.
void add(float* x, const float* y, std::int64_t n);

/// x[r][i] += bias[i] for `rows` rows of n floats, `stride` apart.
void add_bias(float* x, const float* bias, std::int64_t rows, std::int64_t n,
              std::int64_t stride, thread_pool& pool);

namespace reference {
void swiglu(const float* gate, const float* up, std::int64_t n, float* y);
void add(float* x, const float* y, std::int64_t n);
void add_bias(float* x, const float* bias, std::int64_t rows, std::int64_t n,
              std::int64_t stride);
}  // namespace reference

}  // namespace vouch::kernels
