#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vouch::kernels {

/// Which kernels a model's steps run on.
enum class kernel_plan : std::uint8_t {
  /// A row's bytes depend on the model and on its prefix alone.
  invariant,
  /// Steps of fast_plan_rows rows and more take kernels that are quicker and
  /// add up in another order: the bytes of a row depend on how many share its
  /// step. Never for text that is to be vouched for.
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

/// What `fast` does differently: activations in 8 bits have one scale for 128
/// inputs instead of one for 32, so that a matmul applies it once for four
/// blocks of weights instead of to each.
constexpr bool has_wide_scales(kernel_plan plan, std::int64_t rows) {
  return plan == kernel_plan::fast && rows >= fast_plan_rows;
}

}  // namespace vouch::kernels
