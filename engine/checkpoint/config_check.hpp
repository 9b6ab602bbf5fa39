#pragma once

#include <cstdint>
#include <string>

#include "engine/models/model_config.hpp"

namespace vouch::engine {

/// The largest sizes a configuration may name: far above any model, and small
/// enough that no product of two of them overflows.
struct config_limits {
  static constexpr std::int64_t width = 1 << 24;
  static constexpr std::int64_t layers = 1 << 12;
  static constexpr std::int64_t heads = 1 << 14;
  static constexpr std::int64_t head_dim = 1 << 12;
  static constexpr std::int64_t positions = 1 << 28;
};

/// What every family's configuration must satisfy, whatever file it came from.
/// Throws input_error naming `file`.
void check_config(const std::string& file, const model_config& config);

}  // namespace vouch::engine
