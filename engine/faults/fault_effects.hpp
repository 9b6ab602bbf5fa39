#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/models/op_points.hpp"

namespace vouch::engine {

/// Moves each number of a row, or its `element`th, `ulps` representable
/// numbers up (down where negative), through 0 and not past infinity; a NaN
/// stays. Of 8-bit blocks the scale is moved, and the sum with it; `element`
/// then names the block that holds it. Elements that the row lacks: nothing.
void add_ulps(std::span<std::byte> row, row_format format, std::int64_t ulps,
              std::optional<std::int64_t> element);

/// Every number 0.
void fill_zero(std::span<std::byte> row);

/// Every number a NaN; of 8-bit blocks the scale, as it is for numbers that
/// have no 8-bit form.
void fill_nan(std::span<std::byte> row, row_format format);

}  // namespace vouch::engine
