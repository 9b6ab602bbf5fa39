#include "engine/sampling/validate.hpp"

#include <sstream>

namespace vouch::engine {

namespace {

struct float_range {
  const char* field;
  float value;
  float low;
  float high;
  bool low_excluded;
};

std::optional<param_error> check(const float_range& range) {
  const bool above_low =
      range.low_excluded ? range.value > range.low : range.value >= range.low;
  if (above_low && range.value <= range.high) {
    return {};
  }
  std::ostringstream message;
  message << range.field << " must be in " << (range.low_excluded ? '(' : '[')
          << range.low << ", " << range.high << "], got " << range.value;
  return param_error{range.field, message.str()};
}

std::optional<param_error> check(const char* field, std::int64_t value,
                                 std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) {
    return {};
  }
  std::ostringstream message;
  message << field << " must be in [" << low << ", " << high << "], got "
          << value;
  return param_error{field, message.str()};
}

std::optional<param_error> check_token(const char* field, token_id token,
                                       std::int64_t vocab_size) {
  if (token >= 0 && token < vocab_size) {
    return {};
  }
  std::ostringstream message;
  message << field << ": token " << token << " is outside the vocabulary of "
          << vocab_size;
  return param_error{field, message.str()};
}

}  // namespace

std::optional<param_error> validate(const sampling_params& params,
                                    std::int64_t vocab_size) {
  const float_range ranges[] = {
      {"temperature", params.temperature, 0.0F, 2.0F, false},
      {"top_p", params.top_p, 0.0F, 1.0F, true},
      {"min_p", params.min_p, 0.0F, 1.0F, false},
      {"presence_penalty", params.presence_penalty, -2.0F, 2.0F, false},
      {"frequency_penalty", params.frequency_penalty, -2.0F, 2.0F, false},
      {"repetition_penalty", params.repetition_penalty, 0.0F, 10.0F, true},
  };
  for (const auto& range : ranges) {
    if (auto error = check(range)) {
      return error;
    }
  }
  constexpr std::int64_t int_max = 2147483647;
  if (auto error = check("top_k", params.top_k, 0, int_max)) {
    return error;
  }
  if (auto error = check("min_tokens", params.min_tokens, 0, int_max)) {
    return error;
  }
  if (auto error = check("logprobs", params.logprobs, -1, 20)) {
    return error;
  }
  for (const auto& [token, bias] : params.logit_bias) {
    if (auto error = check_token("logit_bias", token, vocab_size)) {
      return error;
    }
    if (auto error = check({"logit_bias", bias, -100.0F, 100.0F, false})) {
      return error;
    }
  }
  for (const auto* tokens :
       {&params.stop_tokens, &params.request_stop_tokens}) {
    for (const token_id token : *tokens) {
      if (auto error = check_token("stop_token_ids", token, vocab_size)) {
        return error;
      }
    }
  }
  return {};
}

}  // namespace vouch::engine
