#pragma once

#include <cstddef>
#include <cstdint>

namespace vouch::engine::jinja {

/// Code points first, first + stride, ... last map to themselves plus delta.
struct case_range {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t stride;
  std::int32_t delta;
};
/// A mapping to several code points (0 where unused).
struct case_expansion {
  std::uint32_t from;
  std::uint32_t to[3];
};
struct code_range {
  std::uint32_t first;
  std::uint32_t last;
};

extern const case_range upper_ranges[];
extern const std::size_t upper_range_count;
extern const case_range lower_ranges[];
extern const std::size_t lower_range_count;
extern const case_expansion upper_expansions[];
extern const std::size_t upper_expansion_count;
/// Code points at or above 0x80 that repr() escapes.
extern const code_range unprintable_ranges[];
extern const std::size_t unprintable_range_count;

}  // namespace vouch::engine::jinja
