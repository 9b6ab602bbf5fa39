#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// What a request says about picking tokens. Plain values, copied freely.
struct sampling_params {
  /// 0 is greedy: the largest adjusted logit.
  float temperature = 1.0F;
  /// Candidates kept; 0 keeps all.
  int top_k = 0;
  /// Smallest set of candidates whose probability reaches this; (0, 1].
  float top_p = 1.0F;
  /// Candidates below this share of the largest probability go; [0, 1].
  float min_p = 0.0F;
  /// Generated tokens only.
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  /// The prompt's tokens too; 1 is off, > 0.
  float repetition_penalty = 1.0F;
  /// Added to the raw logits.
  std::vector<std::pair<token_id, float>> logit_bias;
  /// The model's end-of-generation ids, which end the sequence; sorted.
  std::vector<token_id> stop_tokens;
  /// The request's own ids that end the sequence, whatever ignore_eos says;
  /// sorted. None of them stands in stop_tokens as well.
  std::vector<token_id> request_stop_tokens;
  /// Neither set can be picked before this many tokens were generated.
  int min_tokens = 0;
  /// stop_tokens can never be picked.
  bool ignore_eos = false;
  std::uint64_t seed = 0;
  /// Index of the choice within its prompt: choices differ in noise alone.
  std::uint32_t choice = 0;
  /// Ids at or above it can never be picked; 0: no limit. A model's head may
  /// have more rows than its tokenizer has tokens.
  std::int32_t vocab_limit = 0;
  /// Log-probabilities reported per token: -1 none, 0 the token's own, n the n
  /// likeliest as well.
  int logprobs = -1;
};

/// The tokens that end a text picked with these parameters.
inline std::vector<token_id> ending_tokens(const sampling_params& params) {
  auto all = params.request_stop_tokens;
  if (!params.ignore_eos) {
    all.insert(all.end(), params.stop_tokens.begin(), params.stop_tokens.end());
  }
  return all;
}

/// One token with its log-probability under the unmodified distribution.
struct token_logprob {
  token_id token = -1;
  float logprob = 0.0F;
};

/// What a row's pick produced.
struct picked_token {
  token_id token = -1;
  /// Set when logprobs were asked for.
  float logprob = 0.0F;
  /// The likeliest tokens, by (logprob descending, id ascending).
  std::vector<token_logprob> top;
};

}  // namespace vouch::engine
