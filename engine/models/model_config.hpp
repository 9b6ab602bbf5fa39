#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/types.hpp"

namespace vouch::engine {

/// Scaling of the rotary frequencies; `kind` says which fields matter.
struct rope_scaling {
  enum class type : std::uint8_t { none, linear, llama3, yarn };
  type kind = type::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_position = 0.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  /// 0: derived from the factor.
  double attention_factor = 0.0;
  double mscale = 0.0;
  double mscale_all_dim = 0.0;
  bool truncate = true;
};

/// A decoder-only transformer's shape, read from config.json or from a GGUF
/// file's metadata.
struct model_config {
  /// "llama", ...
  std::string family;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int32_t layers = 0;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  float rms_norm_eps = 1e-6F;
  std::int32_t max_position = 2048;
  double rope_theta = 10000.0;
  rope_scaling scaling;
  /// GGUF's rope_freqs tensor: a divisor for each frequency; empty: none.
  std::vector<float> rope_frequency_divisors;
  bool attention_bias = false;
  bool mlp_bias = false;
  bool tied_head = false;
  /// Rotary inverse frequencies [head_dim / 2] after scaling, and the factor
  /// on cosine and sine.
  std::vector<float> inverse_frequencies() const;
  float rope_attention_factor() const;
};

}  // namespace vouch::engine
