#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/dispatch.hpp"
#include "kernels/dtype.hpp"
#include "kernels/float16.hpp"
#include "kernels/quant_block.hpp"

namespace vouch::kernels::test {

inline constexpr dtype all_types[] = {dtype::f32,  dtype::f16,  dtype::bf16,
                                      dtype::q8_0, dtype::q4_0, dtype::q4_1,
                                      dtype::q5_0, dtype::q5_1, dtype::q4_k,
                                      dtype::q5_k, dtype::q6_k};

/// Runs `body` once on every target that this machine has, then lifts the
/// restriction.
template <class Body>
void on_every_target(Body&& body) {
  for (const auto& name : supported_targets()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(select_target(name));
    ASSERT_EQ(active_target(), name);
    body();
  }
  ASSERT_TRUE(select_target(""));
}

inline std::vector<float> random_floats(std::size_t n, unsigned seed,
                                        float spread = 1.0F) {
  std::mt19937 random{seed};
  std::normal_distribution<float> normal{0.0F, spread};
  std::vector<float> x(n);
  for (auto& v : x) v = normal(random);
  return x;
}

/// Rows of weights of any type, `offset` bytes behind an aligned address: all
/// quantised values and signs occur, scales are sane.
inline std::vector<std::byte> random_rows(dtype type, std::int64_t rows,
                                          std::int64_t in, unsigned seed,
                                          std::size_t offset = 0) {
  const std::size_t bytes =
      static_cast<std::size_t>(rows) * row_bytes(type, in);
  std::vector<std::byte> out(offset + bytes);
  std::mt19937 random{seed};
  std::normal_distribution<float> normal{0.0F, 0.05F};
  if (!is_quantized(type)) {
    const std::size_t size = row_bytes(type, 1);
    for (std::size_t i = 0; i < bytes / size; ++i) {
      const float v = normal(random);
      const std::uint16_t half =
          type == dtype::f16 ? f32_to_f16(v) : f32_to_bf16(v);
      std::memcpy(out.data() + offset + i * size,
                  type == dtype::f32 ? static_cast<const void*>(&v) : &half,
                  size);
    }
    return out;
  }
  for (std::size_t i = offset; i < out.size(); ++i) {
    out[i] = static_cast<std::byte>(random() & 0xFFU);
  }
  const auto size = static_cast<std::size_t>(traits(type).block_bytes);
  const bool at_end = type == dtype::q6_k;
  const auto kind = quantization(type).kind;
  const bool two =
      kind == scale_kind::affine || kind == scale_kind::super_affine;
  for (std::size_t b = offset; b < out.size(); b += size) {
    for (std::size_t k = 0; k < (two ? 2U : 1U); ++k) {
      const std::uint16_t half = f32_to_f16(normal(random));
      std::memcpy(out.data() + b + (at_end ? size - 2 : 2 * k), &half, 2);
    }
  }
  return out;
}

}  // namespace vouch::kernels::test
