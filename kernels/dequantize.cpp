#include "kernels/dequantize.hpp"

#include <cstring>

#include "kernels/float16.hpp"
#include "kernels/quant_block.hpp"

namespace vouch::kernels {

namespace {

void expand(const quant_block& b, const quant_traits& t, float* out) {
  const float d = f16_to_f32(b.d);
  switch (t.kind) {
    case scale_kind::symmetric:
      for (int l = 0; l < 32; ++l) {
        out[l] = d * static_cast<float>(b.q[l] - t.zero);
      }
      break;
    case scale_kind::affine: {
      const float m = f16_to_f32(b.m);
      for (int l = 0; l < 32; ++l) out[l] = d * static_cast<float>(b.q[l]) + m;
      break;
    }
    case scale_kind::super_affine: {
      const float s = d * static_cast<float>(b.s[0]);
      const float m = f16_to_f32(b.m) * static_cast<float>(b.s[1]);
      for (int l = 0; l < 32; ++l) out[l] = s * static_cast<float>(b.q[l]) - m;
      break;
    }
    case scale_kind::super_halves:
      for (int l = 0; l < 32; ++l) {
        const float s =
            d * static_cast<float>(static_cast<std::int8_t>(b.s[l / 16]));
        out[l] = s * static_cast<float>(b.q[l] - t.zero);
      }
      break;
  }
}

}  // namespace

void dequantize(dtype type, const std::byte* blocks, std::int64_t elements,
                float* out) {
  if (type == dtype::f32) {
    std::memcpy(out, blocks, static_cast<std::size_t>(elements) * 4);
    return;
  }
  if (!is_quantized(type)) {
    for (std::int64_t i = 0; i < elements; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, blocks + 2 * i, 2);
      out[i] = type == dtype::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
    return;
  }
  const auto& t = quantization(type);
  for (std::int64_t b = 0; b < elements / quant_block_elements; ++b) {
    expand(unpack_block(type, blocks, b), t, out + b * quant_block_elements);
  }
}

}  // namespace vouch::kernels
