#include "engine/sampling/adjust.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace vouch::engine {

namespace {

bool too_early_to_stop(const sampling_params& params,
                       const pick_context& context) {
  const auto generated =
      static_cast<std::int64_t>(context.history.size()) - context.prompt_tokens;
  return generated < params.min_tokens;
}

bool forbids_stop_tokens(const sampling_params& params,
                         const pick_context& context) {
  const bool early = too_early_to_stop(params, context);
  return (!params.stop_tokens.empty() && (params.ignore_eos || early)) ||
         (!params.request_stop_tokens.empty() && early);
}

bool has_penalties(const sampling_params& params) {
  return params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F ||
         params.frequency_penalty != 0.0F;
}

bool inside(std::span<const float> row, token_id token) {
  return token >= 0 && static_cast<std::size_t>(token) < row.size();
}

/// Repetition divides positive logits and multiplies the others (Keskar et
/// al., "CTRL", 2019); presence and frequency subtract, as OpenAI's API
/// documents them.
void penalise(std::span<float> row, const sampling_params& params,
              const pick_context& context) {
  // Times a token was generated; -1: not in the history at all. Restored by a
  // second walk of the history, so that a pick costs nothing per vocabulary.
  thread_local std::vector<std::int32_t> counts;
  if (counts.size() < row.size()) {
    counts.resize(row.size(), -1);
  }
  const auto prompt = static_cast<std::size_t>(std::clamp<std::int64_t>(
      context.prompt_tokens, 0,
      static_cast<std::int64_t>(context.history.size())));
  for (std::size_t i = 0; i < context.history.size(); ++i) {
    const token_id token = context.history[i];
    if (inside(row, token)) {
      auto& count = counts[static_cast<std::size_t>(token)];
      count = std::max(count, 0) + (i < prompt ? 0 : 1);
    }
  }
  for (const token_id token : context.history) {
    if (!inside(row, token)) {
      continue;
    }
    auto& count = counts[static_cast<std::size_t>(token)];
    if (count < 0) {
      continue;  // adjusted at an earlier occurrence
    }
    float& value = row[static_cast<std::size_t>(token)];
    value = value > 0.0F ? value / params.repetition_penalty
                         : value * params.repetition_penalty;
    if (count > 0) {
      value -= params.presence_penalty;
      value -= params.frequency_penalty * static_cast<float>(count);
    }
    count = -1;
  }
}

}  // namespace

bool leaves_row_alone(const sampling_params& params,
                      const pick_context& context) {
  return params.logit_bias.empty() && !has_penalties(params) &&
         !forbids_stop_tokens(params, context);
}

void adjust(std::span<float> row, const sampling_params& params,
            const pick_context& context) {
  for (const auto& [token, bias] : params.logit_bias) {
    if (inside(row, token)) {
      row[static_cast<std::size_t>(token)] += bias;
    }
  }
  if (has_penalties(params)) {
    penalise(row, params, context);
  }
  const auto forbid = [row](const std::vector<token_id>& tokens) {
    for (const token_id token : tokens) {
      if (inside(row, token)) {
        row[static_cast<std::size_t>(token)] =
            -std::numeric_limits<float>::infinity();
      }
    }
  };
  const bool early = too_early_to_stop(params, context);
  if (early || params.ignore_eos) {
    forbid(params.stop_tokens);
  }
  if (early) {
    forbid(params.request_stop_tokens);
  }
}

}  // namespace vouch::engine
