#pragma once

#include <cstdint>

namespace vouch::engine {

/// The rows that a step has anyway, beside those that may become verify blocks.
struct step_load {
  std::int64_t rows = 0;
  std::int64_t logits_rows = 0;
  /// Tokens that they emit.
  std::int64_t tokens = 0;
};

}  // namespace vouch::engine
