#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vouch::kernels {

/// How the numbers of a weight or of a cache are stored. The quantised types
/// are GGUF's blocks, bit for bit as they lie in the file.
enum class dtype : std::uint8_t {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k,
};

/// Name and block geometry of a `dtype`. A row of n elements takes
/// n / block_elements blocks of block_bytes each; n must divide evenly.
struct dtype_traits {
  std::string_view name;
  int block_elements;
  int block_bytes;
};

const dtype_traits& traits(dtype type);

/// Bytes of a row of `elements`; a multiple of the type's block.
std::size_t row_bytes(dtype type, std::int64_t elements);

}  // namespace vouch::kernels
