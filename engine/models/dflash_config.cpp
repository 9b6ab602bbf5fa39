#include "engine/models/dflash_config.hpp"

#include <cmath>

#include "engine/checkpoint/config_check.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

void check_dflash_config(const dflash_config& config) {
  check_config(config.file, config.shape);
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) throw input_error{config.file, what};
  };
  const auto hidden = config.shape.hidden_size;
  require(config.rotary_dimensions >= 2 && config.rotary_dimensions % 2 == 0 &&
              config.rotary_dimensions <= config.shape.head_dim,
          std::to_string(config.rotary_dimensions) +
              " rotary dimensions do not fit a head of " +
              std::to_string(config.shape.head_dim));
  const auto positive = [](float value) {
    return std::isfinite(value) && value > 0;
  };
  require(positive(config.embedding_scale) && positive(config.value_scale),
          "the embedding scale or the value scale is not a positive number");
  require(positive(config.output_multiplier),
          "the output multiplier is not a positive number");
  require(std::isfinite(config.softcap) && config.softcap >= 0,
          "the softcap of the logits is not a positive number");
  if (config.convolution) {
    require(hidden % config.convolution->group_size == 0,
            "the hidden size is no multiple of the convolution's group size");
  }
  if (config.selector) {
    require(config.selector->top_k <= config.shape.vocab_size,
            "the selector's top_k is larger than the vocabulary");
  }
}

std::vector<std::int32_t> default_taps(std::int32_t target_layers,
                                       std::int32_t draft_layers) {
  if (draft_layers == 1) return {target_layers / 2};
  std::vector<std::int32_t> result;
  result.reserve(static_cast<std::size_t>(draft_layers));
  const double span = target_layers - 4;
  for (std::int32_t i = 0; i < draft_layers; ++i) {
    // nearbyint rounds halves to even, as the reference does.
    result.push_back(static_cast<std::int32_t>(
        std::nearbyint(1 + i * span / (draft_layers - 1))));
  }
  return result;
}

}  // namespace vouch::engine
