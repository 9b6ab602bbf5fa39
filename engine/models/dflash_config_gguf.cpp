#include <string>

#include "engine/checkpoint/config_check.hpp"
#include "engine/checkpoint/config_gguf.hpp"
#include "engine/checkpoint/gguf_keys.hpp"
#include "engine/models/dflash_config.hpp"

namespace vouch::engine {

namespace {

using limits = config_limits;

std::int32_t small(const arch_keys& keys, const std::string& key,
                   std::int64_t limit,
                   std::optional<std::int64_t> fallback = {}) {
  return static_cast<std::int32_t>(keys.size(key, limit, fallback));
}

/// The target's vocabulary: the rows of an own embedding, or the tokenizer's.
std::int64_t vocabulary(const gguf_file& file) {
  const auto* embedding = file.find_tensor("token_embd.weight");
  if (embedding != nullptr && embedding->dimensions.size() == 2) {
    return embedding->dimensions[1];
  }
  const auto tokens = file.metadata().find("tokenizer.ggml.tokens");
  if (tokens == file.metadata().end()) {
    throw input_error{file.path().string(),
                      "neither the tensor 'token_embd.weight' nor the key "
                      "'tokenizer.ggml.tokens' tells the vocabulary's size"};
  }
  return static_cast<std::int64_t>(tokens->second.count);
}

void read_shape(const gguf_file& file, const arch_keys& keys,
                dflash_config& config) {
  auto& shape = config.shape;
  shape.family = "dflash";
  shape.vocab_size = vocabulary(file);
  shape.hidden_size = keys.size("embedding_length", limits::width);
  shape.intermediate_size = keys.size("feed_forward_length", limits::width);
  shape.layers = small(keys, "block_count", limits::layers);
  shape.heads = small(keys, "attention.head_count", limits::heads);
  shape.kv_heads =
      small(keys, "attention.head_count_kv", limits::heads, shape.heads);
  shape.head_dim = small(keys, "attention.key_length", limits::head_dim,
                         shape.hidden_size / shape.heads);
  if (keys.size("attention.value_length", limits::head_dim, shape.head_dim) !=
      shape.head_dim) {
    keys.fail("attention.value_length", "differs from the key length");
  }
  shape.max_position = small(keys, "context_length", limits::positions, 32768);
  const auto epsilon = keys.number("attention.layer_norm_rms_epsilon");
  if (!epsilon) keys.fail("attention.layer_norm_rms_epsilon", "is missing");
  shape.rms_norm_eps = static_cast<float>(*epsilon);
  shape.attention_bias = file.find_tensor("blk.0.attn_q.bias") != nullptr;
  shape.tied_head = file.find_tensor("token_embd.weight") != nullptr &&
                    file.find_tensor("output.weight") == nullptr;
  config.rotary_dimensions =
      small(keys, "rope.dimension_count", limits::head_dim, shape.head_dim);
  // The two readers below speak of the rotated part of a head alone.
  auto rotated = shape;
  rotated.head_dim = config.rotary_dimensions;
  read_rope(keys, rotated);
  read_divisors(file, rotated);
  rotated.head_dim = shape.head_dim;
  shape = rotated;
}

void read_taps(const gguf_file& file, const arch_keys& keys,
               dflash_config& config) {
  config.tap_width = config.shape.hidden_size;
  if (!keys.has("target_layers")) keys.fail("target_layers", "is missing");
  // Stored as the layers whose input is tapped.
  for (const auto id : file.integers(keys.name("target_layers"))) {
    if (id < 1 || id > limits::layers) {
      keys.fail("target_layers", "names layer input " + std::to_string(id));
    }
    config.taps.push_back(static_cast<std::int32_t>(id - 1));
  }
  if (config.taps.empty()) keys.fail("target_layers", "is empty");
}

void read_masks(const gguf_file& file, const arch_keys& keys,
                dflash_config& config) {
  const auto layers = static_cast<std::size_t>(config.shape.layers);
  const bool causal =
      file.boolean(keys.name("attention.causal")).value_or(false);
  std::int32_t window = 0;
  if (keys.has("attention.sliding_window") &&
      keys.integer("attention.sliding_window") != 0) {
    window = small(keys, "attention.sliding_window", limits::positions);
  }
  std::vector<std::int64_t> sliding(layers, 1);
  if (keys.has("attention.sliding_window_pattern")) {
    sliding = file.integers(keys.name("attention.sliding_window_pattern"));
    if (sliding.size() != layers) {
      keys.fail("attention.sliding_window_pattern",
                "has " + std::to_string(sliding.size()) + " entries for " +
                    std::to_string(layers) + " layers");
    }
  }
  for (const auto slides : sliding) {
    config.masks.push_back({slides != 0 ? window : 0, causal});
  }
}

void read_variant(const gguf_file& file, const arch_keys& keys,
                  dflash_config& config) {
  if (file.find_tensor("selector_hidden.weight") != nullptr) {
    config.convolution = {small(keys, "conv_kernel_size", 64),
                          small(keys, "conv_group_size", limits::width)};
    config.selector = {small(keys, "selector_rank", limits::width),
                       small(keys, "selector_top_k", 4096)};
  }
  if (const auto* markov = file.find_tensor("markov_w1.weight")) {
    config.markov_rank = static_cast<std::int32_t>(markov->dimensions[0]);
    config.sample_from_anchor =
        file.boolean(keys.name("sample_from_anchor")).value_or(true);
  }
  const auto activation = keys.string("hidden_activation", "silu");
  if (activation != "silu") {
    config.unsupported = "hidden_activation '" + activation + "'";
  }
  if (file.find_tensor("blk.0.attn_v.weight") == nullptr) {
    config.unsupported = "values made of the keys (no blk.0.attn_v.weight)";
  }
}

}  // namespace

bool is_dflash(const gguf_file& file) {
  return file.string("general.architecture") == "dflash";
}

dflash_config read_dflash_config(const gguf_file& file) {
  const arch_keys keys{file, "dflash"};
  dflash_config config;
  config.file = file.path().string();
  read_shape(file, keys, config);
  config.block_size = small(keys, "block_size", 1024, 16);
  const auto mask = file.require_integer("tokenizer.ggml.mask_token_id");
  if (mask < 0 || mask > limits::width) {
    throw input_error{config.file, "key 'tokenizer.ggml.mask_token_id' is " +
                                       std::to_string(mask)};
  }
  config.mask_token = static_cast<token_id>(mask);
  read_taps(file, keys, config);
  read_masks(file, keys, config);
  const auto number = [&](const char* key, double fallback) {
    return static_cast<float>(keys.number(key).value_or(fallback));
  };
  config.embedding_scale = number("embedding_scale", 1);
  config.output_multiplier = number("logit_scale", 1);
  config.softcap = number("final_logit_softcapping", 0);
  config.value_scale = number("attention.value_scale", 1);
  if (const auto* map = file.find_tensor("d2t")) {
    config.draft_vocab_size = map->dimensions[0];
  }
  read_variant(file, keys, config);
  check_dflash_config(config);
  return config;
}

}  // namespace vouch::engine
