#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dtype.hpp"

namespace vouch::kernels {

/// Expands `elements` numbers stored as `type` at `blocks` (any alignment) to
/// float32, in the rounding order of the `gguf` package: (d*s)*q - (dmin*m),
/// d*q + m. `elements` is a multiple of the type's block.
void dequantize(dtype type, const std::byte* blocks, std::int64_t elements,
                float* out);

}  // namespace vouch::kernels
