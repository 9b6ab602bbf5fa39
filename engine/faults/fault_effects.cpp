#include "engine/faults/fault_effects.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/quantize_row.hpp"

namespace vouch::engine {

namespace {

using kernels::activation_block;

constexpr std::uint16_t f16_infinity = 0x7C00U;
constexpr std::uint16_t f16_nan = 0x7E00U;

/// Floating-point bits on one line of whole numbers, and back: magnitudes,
/// negative ones below 0.
template <class Bits>
Bits moved(Bits bits, Bits infinity, std::int64_t ulps) {
  constexpr auto sign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto magnitude = static_cast<Bits>(bits & static_cast<Bits>(~sign));
  if (magnitude > infinity) return bits;  // a NaN
  const std::int64_t place =
      (bits & sign) != 0 ? -std::int64_t{magnitude} : std::int64_t{magnitude};
  const auto most = std::int64_t{infinity};
  const auto to = std::clamp(place + ulps, -most, most);
  return to < 0 ? static_cast<Bits>(static_cast<Bits>(-to) | sign)
                : static_cast<Bits>(to);
}

float moved(float value, std::int64_t ulps) {
  return std::bit_cast<float>(moved<std::uint32_t>(
      std::bit_cast<std::uint32_t>(value), 0x7F800000U, ulps));
}

activation_block moved(activation_block block, std::int64_t ulps) {
  block.scale = moved(block.scale, ulps);
  block.scaled_sum =
      block.scale * static_cast<float>(block.sums[0] + block.sums[1]);
  return block;
}

/// change(element) for one element of the row or for all.
template <class Element, class Change>
void each(std::span<std::byte> row, std::optional<std::int64_t> only,
          Change&& change) {
  const std::size_t count = row.size() / sizeof(Element);
  const auto first = only ? static_cast<std::size_t>(*only) : 0;
  const auto end = only ? std::min(count, first + 1) : count;
  for (std::size_t i = first; i < end; ++i) {
    Element value;
    std::memcpy(&value, row.data() + i * sizeof value, sizeof value);
    value = change(value);
    std::memcpy(row.data() + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

void add_ulps(std::span<std::byte> row, row_format format, std::int64_t ulps,
              std::optional<std::int64_t> element) {
  switch (format) {
    case row_format::f32:
      each<float>(row, element, [&](float x) { return moved(x, ulps); });
      break;
    case row_format::f16:
      each<std::uint16_t>(row, element, [&](std::uint16_t x) {
        return moved<std::uint16_t>(x, f16_infinity, ulps);
      });
      break;
    case row_format::blocks:
      if (element) *element /= kernels::quant_block_elements;
      each<activation_block>(row, element, [&](const activation_block& x) {
        return moved(x, ulps);
      });
  }
}

void fill_zero(std::span<std::byte> row) {
  std::fill(row.begin(), row.end(), std::byte{0});
}

void fill_nan(std::span<std::byte> row, row_format format) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  switch (format) {
    case row_format::f32:
      each<float>(row, {}, [](float) { return nan; });
      break;
    case row_format::f16:
      each<std::uint16_t>(row, {}, [](std::uint16_t) { return f16_nan; });
      break;
    case row_format::blocks:
      each<activation_block>(row, {}, [](activation_block x) {
        x.scale = nan;
        x.scaled_sum = nan;
        return x;
      });
  }
}

}  // namespace vouch::engine
