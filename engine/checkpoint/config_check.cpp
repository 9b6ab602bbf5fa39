#include "engine/checkpoint/config_check.hpp"

#include <cmath>

#include "engine/error.hpp"

namespace vouch::engine {

void check_config(const std::string& file, const model_config& config) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) throw input_error{file, what};
  };
  require(config.heads % config.kv_heads == 0,
          std::to_string(config.heads) +
              " attention heads are no multiple of " +
              std::to_string(config.kv_heads) + " key/value heads");
  require(config.head_dim >= 2 && config.head_dim % 2 == 0,
          "head dimension " + std::to_string(config.head_dim) +
              " is not even, as rotary embedding needs");
  const auto positive = [](double value) {
    return std::isfinite(value) && value > 0;
  };
  require(positive(config.rms_norm_eps),
          "the epsilon of the norms is not a positive number");
  require(positive(config.rope_theta),
          "the rotary theta is not a positive number");
  const auto& scaling = config.scaling;
  if (scaling.kind == rope_scaling::type::none) return;
  require(positive(scaling.factor),
          "the rotary scaling factor is not a positive number");
  if (scaling.kind == rope_scaling::type::linear) return;
  require(positive(scaling.original_max_position),
          "the rotary scaling's original length is not a positive number");
  if (scaling.kind == rope_scaling::type::llama3) {
    require(positive(scaling.low_freq_factor) &&
                scaling.low_freq_factor < scaling.high_freq_factor,
            "rotary scaling needs 0 < low_freq_factor < high_freq_factor");
    return;
  }
  require(config.rope_theta > 1 && positive(scaling.beta_fast) &&
              positive(scaling.beta_slow),
          "yarn needs a theta above 1 and positive beta_fast and beta_slow");
  require(
      std::isfinite(scaling.attention_factor) && scaling.attention_factor >= 0,
      "yarn's attention factor is not a positive number");
}

}  // namespace vouch::engine
