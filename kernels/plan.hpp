#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vouch::kernels {

/// Which kernels a model's steps run on.
enum class kernel_plan : std::uint8_t {
  /// A row's bytes depend on the model and on its prefix alone.
  invariant,
  /// Kernels may be chosen by the number of rows, and from fast_plan_rows on
  /// they round in another order: the bytes of a row depend on how many share
  /// its step. Never for text that is to be vouched for.
  fast,
};

/// Rows from which `fast` differs from `invariant`.
inline constexpr std::int64_t fast_plan_rows = 8;

constexpr std::string_view plan_name(kernel_plan plan) {
  return plan == kernel_plan::fast ? "fast" : "invariant";
}

constexpr std::optional<kernel_plan> find_plan(std::string_view name) {
  for (const auto plan : {kernel_plan::invariant, kernel_plan::fast}) {
    if (name == plan_name(plan)) return plan;
  }
  return std::nullopt;
}

/// True where a matmul of quantised weights applies a block's scales one after
/// the other, d * (scale * dot), instead of (d * scale) * dot.
constexpr bool applies_scales_in_turn(kernel_plan plan, std::int64_t rows) {
  return plan == kernel_plan::fast && rows >= fast_plan_rows;
}

}  // namespace vouch::kernels
