#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "engine/sampling/noise.hpp"
#include "engine/sampling/pick.hpp"
#include "kernels/exp.hpp"

namespace vouch::test {

/// `pick` written down naively from its numbered list: maps, one full sort,
/// noise for every survivor. Shares with `pick` what defines the result (exp,
/// log, Philox) and none of its ways to be quick.
inline engine::token_id naive_pick(std::span<const float> logits,
                                   const engine::sampling_params& params,
                                   const engine::pick_context& context) {
  using engine::token_id;
  std::vector<float> row{logits.begin(), logits.end()};
  for (const auto& [token, bias] : params.logit_bias) {
    row[static_cast<std::size_t>(token)] += bias;
  }
  std::set<token_id> seen{context.history.begin(), context.history.end()};
  std::map<token_id, int> generated;
  for (const token_id token : context.history.subspan(
           static_cast<std::size_t>(context.prompt_tokens))) {
    ++generated[token];
  }
  for (const token_id token : seen) {
    float& value = row[static_cast<std::size_t>(token)];
    value = value > 0 ? value / params.repetition_penalty
                      : value * params.repetition_penalty;
  }
  for (const auto& [token, count] : generated) {
    float& value = row[static_cast<std::size_t>(token)];
    value -= params.presence_penalty;
    value -= params.frequency_penalty * static_cast<float>(count);
  }
  const auto made =
      static_cast<std::int64_t>(context.history.size()) - context.prompt_tokens;
  const auto forbid = [&](const std::vector<token_id>& tokens) {
    for (const token_id token : tokens) {
      row[static_cast<std::size_t>(token)] =
          -std::numeric_limits<float>::infinity();
    }
  };
  if (params.ignore_eos || made < params.min_tokens) {
    forbid(params.stop_tokens);
  }
  if (made < params.min_tokens) {
    forbid(params.request_stop_tokens);
  }
  std::vector<token_id> order(row.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<token_id>(i);
  }
  const auto value = [&](token_id t) {
    return row[static_cast<std::size_t>(t)];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](token_id a, token_id b) { return value(a) > value(b); });
  if (params.temperature <= 0) {
    return order.front();
  }
  const float largest = value(order.front());
  const auto scaled = [&](token_id t) {
    return (value(t) - largest) / params.temperature;
  };
  if (params.top_k > 0 &&
      static_cast<std::size_t>(params.top_k) < order.size()) {
    order.resize(static_cast<std::size_t>(params.top_k));
  }
  if (params.top_p < 1) {
    const auto mass = [&](token_id t) {
      return std::floor(static_cast<double>(kernels::exp_f32(scaled(t))) *
                        0x1p40);
    };
    double total = 0;
    for (const token_id t : order) {
      total += mass(t);
    }
    double sum = 0;
    std::size_t kept = 0;
    while (kept < order.size()) {
      sum += mass(order[kept]);
      ++kept;
      if (sum >= static_cast<double>(params.top_p) * total) {
        break;
      }
    }
    order.resize(kept);
  }
  std::erase_if(order, [&](token_id t) {
    return kernels::exp_f32(scaled(t)) < params.min_p || std::isinf(value(t));
  });
  const engine::row_noise noise{params.seed, params.choice, context.position};
  std::sort(order.begin(), order.end());
  token_id best = -1;
  double best_score = 0;
  for (const token_id t : order) {
    const double score = static_cast<double>(scaled(t)) +
                         engine::row_noise::gumbel(noise.bits(t));
    if (best < 0 || score > best_score) {
      best = t;
      best_score = score;
    }
  }
  return best;
}

}  // namespace vouch::test
