#include "engine/models/model_config.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace vouch::engine {

namespace {

/// Llama 3: long waves are stretched by `factor`, short ones are kept, and
/// between the two limits the share is interpolated.
double scale_llama3(double inverse, const rope_scaling& scaling) {
  const auto length = 2 * std::numbers::pi / inverse;
  const auto turns = scaling.original_max_position / length;
  if (turns < scaling.low_freq_factor) return inverse / scaling.factor;
  if (turns > scaling.high_freq_factor) return inverse;
  const auto kept = (turns - scaling.low_freq_factor) /
                    (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - kept) * inverse / scaling.factor + kept * inverse;
}

/// YaRN (Peng et al. 2023, arXiv:2309.00071, section 3.2): dimensions that turn
/// more than beta_fast times over the original length are kept, those that turn
/// less than beta_slow times are stretched, with a ramp between.
std::vector<double> yarn_ramp(const model_config& config) {
  const auto& scaling = config.scaling;
  const double dimensions = config.head_dim;
  const auto turning = [&](double turns) {
    return dimensions *
           std::log(scaling.original_max_position /
                    (2 * std::numbers::pi * turns)) /
           (2 * std::log(config.rope_theta));
  };
  auto low = turning(scaling.beta_fast);
  auto high = turning(scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dimensions - 1);
  if (low == high) high += 0.001;
  std::vector<double> ramp(static_cast<std::size_t>(config.head_dim / 2));
  for (std::size_t i = 0; i < ramp.size(); ++i) {
    ramp[i] =
        std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
  }
  return ramp;
}

}  // namespace

std::vector<float> model_config::inverse_frequencies() const {
  const auto half = static_cast<std::size_t>(head_dim / 2);
  std::vector<double> ramp(half);
  if (scaling.kind == rope_scaling::type::yarn) ramp = yarn_ramp(*this);
  std::vector<float> result(half);
  for (std::size_t i = 0; i < half; ++i) {
    auto inverse =
        std::pow(rope_theta, -2.0 * static_cast<double>(i) / head_dim);
    switch (scaling.kind) {
      case rope_scaling::type::none:
        break;
      case rope_scaling::type::linear:
        inverse /= scaling.factor;
        break;
      case rope_scaling::type::llama3:
        inverse = scale_llama3(inverse, scaling);
        break;
      case rope_scaling::type::yarn:
        inverse = inverse / scaling.factor * ramp[i] + inverse * (1 - ramp[i]);
        break;
    }
    if (!rope_frequency_divisors.empty()) {
      inverse /= rope_frequency_divisors[i];
    }
    result[i] = static_cast<float>(inverse);
  }
  return result;
}

float model_config::rope_attention_factor() const {
  if (scaling.kind != rope_scaling::type::yarn) return 1.0F;
  if (scaling.attention_factor > 0) {
    return static_cast<float>(scaling.attention_factor);
  }
  const auto scale = [&](double multiplier) {
    return scaling.factor > 1 ? 0.1 * multiplier * std::log(scaling.factor) + 1
                              : 1.0;
  };
  if (scaling.mscale != 0 && scaling.mscale_all_dim != 0) {
    return static_cast<float>(scale(scaling.mscale) /
                              scale(scaling.mscale_all_dim));
  }
  return static_cast<float>(scale(1.0));
}

}  // namespace vouch::engine
