#include "engine/sampling/pick.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/sampling/adjust.hpp"
#include "engine/sampling/candidates.hpp"
#include "engine/sampling/noise.hpp"
#include "kernels/exp.hpp"
#include "kernels/log_softmax.hpp"

namespace vouch::engine {

namespace {

/// Index of the row's largest value. Throws pick_error where nothing can be
/// picked: an empty row, a NaN, plus infinity, or minus infinity everywhere.
std::size_t largest_of(std::span<const float> row, const char* which) {
  if (row.empty()) {
    throw pick_error{"the row of logits is empty"};
  }
  const auto n = static_cast<std::int64_t>(row.size());
  const std::int64_t best = kernels::argmax(row.data(), n);
  if (best < 0) {
    const auto nan = std::find_if(row.begin(), row.end(),
                                  [](float x) { return std::isnan(x); });
    throw pick_error{std::string{which} + " hold a NaN (token " +
                     std::to_string(nan - row.begin()) + ")"};
  }
  const float value = row[static_cast<std::size_t>(best)];
  if (std::isinf(value)) {
    throw pick_error{value > 0 ? std::string{which} + " hold an infinity " +
                                     "(token " + std::to_string(best) + ")"
                               : "no token is allowed: " + std::string{which} +
                                     " are minus infinity everywhere"};
  }
  return static_cast<std::size_t>(best);
}

/// Keeps the best of the candidates shown to it by value plus noise.
class race {
 public:
  race(const weighing& weigh, const row_noise& noise)
      : weigh_(weigh), noise_(noise) {}

  void enter(token_id token, float value, std::uint32_t bits) {
    const double score =
        static_cast<double>(weigh_.scaled(value)) + row_noise::gumbel(bits);
    if (winner_ < 0 || score > score_ || (score == score_ && token < winner_)) {
      winner_ = token;
      score_ = score;
      const double decay =
          kernels::exp_f32(static_cast<float>(score > 0.0 ? -score : score));
      scale_ = score > 0.0 ? 1.0 / decay : decay;
    }
  }
  void enter(token_id token, float value) {
    enter(token, value, noise_.bits(token));
  }

  /// False only where the candidate certainly loses, told without logarithms:
  /// -log u >= 1 - u, so its score is at most scaled - log(1 - u). The margin
  /// covers the rounding of both sides. A value of minus infinity has weight 0
  /// and never may win.
  bool may_win(float weight, std::uint32_t bits) const {
    const double gap = (4294967295.5 - static_cast<double>(bits)) * 0x1p-32;
    return gap * scale_ <= static_cast<double>(weight) * 1.001;
  }

  token_id winner() const { return winner_; }

 private:
  const weighing& weigh_;
  const row_noise& noise_;
  token_id winner_ = -1;
  double score_ = 0.0;
  /// exp(score_).
  double scale_ = 0.0;
};

/// Every token runs: noise for the whole vocabulary, logarithms for few.
token_id draw_from_row(std::span<const float> row, std::size_t largest,
                       const sampling_params& params, const weighing& weigh,
                       const row_noise& noise) {
  constexpr std::size_t block = 32;
  race runners{weigh, noise};
  // The likeliest first: it sets a bar that most others cannot reach.
  runners.enter(static_cast<token_id>(largest), row[largest]);
  float weights[block];
  std::uint32_t bits[block];
  for (std::size_t begin = 0; begin < row.size(); begin += block) {
    const std::size_t count = std::min(block, row.size() - begin);
    weigh.weights(row.data() + begin, count, weights);
    noise.bits_of_blocks(static_cast<std::uint32_t>(begin / 4), bits);
    for (std::size_t i = 0; i < count; ++i) {
      if (weights[i] >= params.min_p && runners.may_win(weights[i], bits[i])) {
        runners.enter(static_cast<token_id>(begin + i), row[begin + i],
                      bits[i]);
      }
    }
  }
  return runners.winner();
}

token_id draw(std::span<const float> row, std::size_t largest,
              const sampling_params& params, const pick_context& context) {
  if (params.temperature <= 0.0F || params.top_k == 1) {
    return static_cast<token_id>(largest);
  }
  const weighing weigh{row[largest], params.temperature};
  const row_noise noise{params.seed, params.choice, context.position};
  const bool has_top_k =
      params.top_k > 0 && static_cast<std::size_t>(params.top_k) < row.size();
  const bool has_top_p = params.top_p < 1.0F;
  if (!has_top_k && !has_top_p) {
    return draw_from_row(row, largest, params, weigh, noise);
  }
  thread_local std::vector<candidate> candidates;
  if (has_top_k) {
    take_top(row, static_cast<std::size_t>(params.top_k), candidates);
    if (has_top_p) {
      cut_nucleus(candidates, weigh, params.top_p);
    } else {
      weigh_all(candidates, weigh);
    }
  } else {
    take_nucleus(row, weigh, params.top_p, candidates);
  }
  race runners{weigh, noise};
  runners.enter(static_cast<token_id>(largest), row[largest]);
  for (const auto& c : candidates) {
    const std::uint32_t bits = noise.bits(c.token);
    if (c.weight >= params.min_p && runners.may_win(c.weight, bits)) {
      runners.enter(c.token, c.value, bits);
    }
  }
  return runners.winner();
}

void add_logprobs(std::span<const float> logits, int top,
                  picked_token& picked) {
  const float normaliser = kernels::log_sum_exp(
      logits.data(), static_cast<std::int64_t>(logits.size()));
  picked.logprob = logits[static_cast<std::size_t>(picked.token)] - normaliser;
  if (top <= 0) {
    return;
  }
  thread_local std::vector<candidate> likeliest;
  take_top(logits, static_cast<std::size_t>(top), likeliest);
  picked.top.reserve(likeliest.size());
  for (const auto& c : likeliest) {
    picked.top.push_back({c.token, c.value - normaliser});
  }
}

}  // namespace

picked_token pick(std::span<const float> logits, const sampling_params& params,
                  const pick_context& context) {
  std::size_t raw_largest = largest_of(logits, "the logits");
  auto allowed = logits;
  if (params.vocab_limit > 0 &&
      static_cast<std::size_t>(params.vocab_limit) < logits.size()) {
    allowed = logits.first(static_cast<std::size_t>(params.vocab_limit));
    raw_largest = largest_of(allowed, "the logits of known tokens");
  }
  picked_token picked;
  if (leaves_row_alone(params, context)) {
    picked.token = draw(allowed, raw_largest, params, context);
  } else {
    thread_local std::vector<float> row;
    row.assign(allowed.begin(), allowed.end());
    adjust(row, params, context);
    const std::size_t largest = largest_of(row, "the adjusted logits");
    picked.token = draw(row, largest, params, context);
  }
  if (params.logprobs >= 0) {
    add_logprobs(logits, params.logprobs, picked);
  }
  return picked;
}

picked_token score(std::span<const float> logits, token_id token, int top) {
  largest_of(logits, "the logits");
  if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) {
    throw pick_error{"token " + std::to_string(token) +
                     " is outside the row of " + std::to_string(logits.size()) +
                     " logits"};
  }
  picked_token scored;
  scored.token = token;
  add_logprobs(logits, top, scored);
  return scored;
}

}  // namespace vouch::engine
