#include "kernels/dtype.hpp"

#include <array>

namespace vouch::kernels {

namespace {

constexpr std::array<dtype_traits, 11> table = {{
    {"F32", 1, 4},
    {"F16", 1, 2},
    {"BF16", 1, 2},
    {"Q8_0", 32, 34},
    {"Q4_0", 32, 18},
    {"Q4_1", 32, 20},
    {"Q5_0", 32, 22},
    {"Q5_1", 32, 24},
    {"Q4_K", 256, 144},
    {"Q5_K", 256, 176},
    {"Q6_K", 256, 210},
}};

}  // namespace

const dtype_traits& traits(dtype type) {
  return table[static_cast<std::size_t>(type)];
}

std::size_t row_bytes(dtype type, std::int64_t elements) {
  const auto& t = traits(type);
  return static_cast<std::size_t>(elements / t.block_elements) *
         static_cast<std::size_t>(t.block_bytes);
}

}  // namespace vouch::kernels
