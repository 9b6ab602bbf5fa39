#include "engine/models/dflash_select.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace vouch::engine {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// -1 when nothing is larger than minus infinity.
std::int64_t largest(std::span<const float> values) {
  std::int64_t best = -1;
  float value = minus_infinity;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > value) {
      value = values[i];
      best = static_cast<std::int64_t>(i);
    }
  }
  return best;
}

/// The ids of the k largest logits, (logit descending, id ascending).
std::vector<token_id> candidates(std::span<const float> logits,
                                 std::int32_t k) {
  std::vector<token_id> ids;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i])) ids.push_back(static_cast<token_id>(i));
  }
  const auto kept = std::min(ids.size(), static_cast<std::size_t>(k));
  std::partial_sort(ids.begin(),
                    ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                    [&](token_id a, token_id b) {
                      const auto x = logits[static_cast<std::size_t>(a)];
                      const auto y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  ids.resize(kept);
  return ids;
}

void project(const dflash_linear& layer, const float* x, std::int64_t rows,
             float* y, kernels::thread_pool& pool) {
  kernels::activations in;
  in.assign(x, rows, layer.weight.in(),
            kernels::wants_quantized_activations(layer.weight.type()), pool);
  kernels::matmul(layer.weight, in, y, layer.weight.out(), pool);
}

/// score_t(b) = logit_t(b) + <A[prev] * (W z_t), B[b]> over row t's top
/// candidates (DFlash 2).
std::vector<token_id> walk(const dflash_config& config,
                           const dflash_weights& weights, token_id anchor,
                           const dflash_rows& rows,
                           kernels::thread_pool& pool) {
  const auto rank = static_cast<std::size_t>(config.selector->rank);
  std::vector<float> hidden(static_cast<std::size_t>(rows.count) * rank);
  project(*weights.selector, rows.hidden, rows.count, hidden.data(), pool);
  std::vector<float> before(rank);
  std::vector<float> after(rank);
  std::vector<token_id> result;
  auto previous = anchor;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::span logits{rows.logits + row * rows.vocabulary,
                           static_cast<std::size_t>(rows.vocabulary)};
    const auto ids = candidates(logits, config.selector->top_k);
    weights.predecessors->read(previous, before.data());
    const float* z = hidden.data() + static_cast<std::size_t>(row) * rank;
    std::vector<float> scores;
    for (const auto id : ids) {
      weights.successors->read(id, after.data());
      float score = 0;
      for (std::size_t i = 0; i < rank; ++i) {
        score += before[i] * z[i] * after[i];
      }
      scores.push_back(logits[static_cast<std::size_t>(id)] + score);
    }
    const auto best = largest(scores);
    if (best < 0) break;
    previous = ids[static_cast<std::size_t>(best)];
    result.push_back(previous);
  }
  return result;
}

/// logits_t += W2 W1[prev] (DSpark).
void add_markov(const dflash_config& config, const dflash_weights& weights,
                token_id previous, std::span<float> logits,
                kernels::thread_pool& pool) {
  if (config.markov_rank == 0) return;
  std::vector<float> in(static_cast<std::size_t>(config.markov_rank));
  std::vector<float> bias(logits.size());
  weights.markov_in->read(previous, in.data());
  project(*weights.markov_out, in.data(), 1, bias.data(), pool);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] += bias[i];
}

}  // namespace

std::vector<token_id> select_drafts(const dflash_config& config,
                                    const dflash_weights& weights,
                                    token_id anchor, const dflash_rows& rows,
                                    kernels::thread_pool& pool) {
  if (config.selector) return walk(config, weights, anchor, rows, pool);
  std::vector<token_id> result;
  auto previous = anchor;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::span logits{rows.logits + row * rows.vocabulary,
                           static_cast<std::size_t>(rows.vocabulary)};
    add_markov(config, weights, previous, logits, pool);
    const auto best = largest(logits);
    if (best < 0) break;
    previous = static_cast<token_id>(best);
    result.push_back(previous);
  }
  return result;
}

}  // namespace vouch::engine
