#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/types.hpp"

namespace vouch::cli::bench {

/// English prose as a model's tokens: random ids would give flatter
/// distributions than a server ever samples from.
class prompts {
 public:
  /// Throws input_error when the model's tokenizer cannot be used.
  explicit prompts(const std::string& model);

  /// `count` tokens from token `start` of a passage that repeats.
  std::vector<engine::token_id> tokens(std::int32_t count,
                                       std::int32_t start) const;

 private:
  std::vector<engine::token_id> passage_;
};

}  // namespace vouch::cli::bench
