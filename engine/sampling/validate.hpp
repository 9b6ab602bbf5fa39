#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/sampling/sampling_params.hpp"

namespace vouch::engine {

/// A sampling parameter that cannot be used.
struct param_error {
  /// The parameter as the API spells it: "top_p", "logit_bias", ...
  std::string field;
  /// What is wrong, with the value and the range.
  std::string message;
};

/// The first parameter out of its range, or nothing:
///   temperature         [0, 2], as OpenAI's API documents it
///   top_k               >= 0 (0 is off; the HTTP side also takes -1 as off)
///   top_p               (0, 1]
///   min_p               [0, 1]
///   presence_penalty    [-2, 2]
///   frequency_penalty   [-2, 2]
///   repetition_penalty  (0, 10]
///   logit_bias          ids in the vocabulary, values in [-100, 100]
///   stop_token_ids      ids in the vocabulary
///   min_tokens          >= 0
///   logprobs            -1 (none) ... 20
/// A NaN is never in range.
std::optional<param_error> validate(const sampling_params& params,
                                    std::int64_t vocab_size);

}  // namespace vouch::engine
