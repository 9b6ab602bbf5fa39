#include "engine/checkpoint/config_gguf.hpp"

#include <cmath>
#include <cstring>
#include <string>

#include "engine/checkpoint/config_check.hpp"
#include "engine/error.hpp"
#include "engine/models/families.hpp"

namespace vouch::engine {

namespace {

void refuse_unsupported(const arch_keys& keys) {
  if (keys.integer("expert_count").value_or(0) != 0) {
    keys.fail("expert_count", "is set: mixtures of experts are not supported");
  }
  for (const auto* key :
       {"attention.sliding_window", "attention.scale", "attention.clamp_kqv",
        "logit_scale", "embedding_scale", "residual_scale",
        "attn_logit_softcapping", "final_logit_softcapping"}) {
    if (keys.has(key) && keys.number(key) != 0.0) {
      keys.fail(key, "is set: this feature is not supported");
    }
  }
}

}  // namespace

void read_rope(const arch_keys& keys, model_config& config) {
  config.rope_theta = keys.number("rope.freq_base").value_or(1e4);
  const auto dimensions = keys.size("rope.dimension_count",
                                    config_limits::head_dim, config.head_dim);
  if (dimensions != config.head_dim) {
    keys.fail("rope.dimension_count", "is " + std::to_string(dimensions) +
                                          ", not the head dimension " +
                                          std::to_string(config.head_dim));
  }
  auto& scaling = config.scaling;
  const auto factor = keys.number("rope.scaling.factor");
  const auto old_factor = keys.number("rope.scale_linear");
  const auto type = keys.string("rope.scaling.type",
                                factor || old_factor ? "linear" : "none");
  if (type == "none") return;
  scaling.factor = factor ? *factor : old_factor.value_or(1.0);
  if (type == "linear") {
    scaling.kind = rope_scaling::type::linear;
  } else if (type == "yarn") {
    scaling.kind = rope_scaling::type::yarn;
    scaling.original_max_position =
        keys.number("rope.scaling.original_context_length")
            .value_or(config.max_position);
    scaling.beta_fast =
        keys.number("rope.scaling.yarn_beta_fast").value_or(scaling.beta_fast);
    scaling.beta_slow =
        keys.number("rope.scaling.yarn_beta_slow").value_or(scaling.beta_slow);
    // GGUF's factor multiplies the usual one instead of replacing it.
    const auto usual =
        scaling.factor > 1 ? 0.1 * std::log(scaling.factor) + 1 : 1.0;
    scaling.attention_factor =
        usual * keys.number("rope.scaling.attn_factor").value_or(1.0);
  } else {
    keys.fail("rope.scaling.type", "is '" + type +
                                       "': this scaling is not supported "
                                       "(none, linear and yarn are)");
  }
}

/// Llama-3 scaling has no key: a tensor holds a divisor for each frequency.
void read_divisors(const gguf_file& file, model_config& config) {
  const auto* tensor = file.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return;
  const auto count = static_cast<std::size_t>(config.head_dim / 2);
  if (tensor->type->name != "F32" || tensor->bytes != count * sizeof(float)) {
    throw input_error{file.path().string(),
                      "tensor 'rope_freqs.weight' is not F32 of " +
                          std::to_string(count) + " elements"};
  }
  config.rope_frequency_divisors.resize(count);
  std::memcpy(config.rope_frequency_divisors.data(), tensor->data,
              tensor->bytes);
  for (const auto divisor : config.rope_frequency_divisors) {
    if (!std::isfinite(divisor) || divisor <= 0) {
      throw input_error{file.path().string(),
                        "tensor 'rope_freqs.weight' holds a divisor that is "
                        "not a positive number"};
    }
  }
}

model_config read_config(const gguf_file& file) {
  const auto architecture = file.require_string("general.architecture");
  const auto* family = find_family_of_gguf(architecture);
  if (family == nullptr) {
    throw input_error{
        file.path().string(),
        "key 'general.architecture' is '" + std::string{architecture} +
            "': this family is not supported (" + supported_families() + ")"};
  }
  const arch_keys keys{file, architecture};
  refuse_unsupported(keys);
  model_config config;
  config.family = family->name;
  using limits = config_limits;
  config.hidden_size = keys.size("embedding_length", limits::width);
  config.intermediate_size = keys.size("feed_forward_length", limits::width);
  config.layers =
      static_cast<std::int32_t>(keys.size("block_count", limits::layers));
  config.heads = static_cast<std::int32_t>(
      keys.size("attention.head_count", limits::heads));
  config.kv_heads = static_cast<std::int32_t>(
      keys.size("attention.head_count_kv", limits::heads, config.heads));
  config.head_dim = static_cast<std::int32_t>(
      keys.size("attention.key_length", limits::head_dim,
                config.hidden_size / config.heads));
  if (keys.size("attention.value_length", limits::head_dim, config.head_dim) !=
      config.head_dim) {
    keys.fail("attention.value_length",
              "differs from the key length, which is not supported");
  }
  config.max_position =
      static_cast<std::int32_t>(keys.size("context_length", limits::positions));
  const auto epsilon = keys.number("attention.layer_norm_rms_epsilon");
  if (!epsilon) keys.fail("attention.layer_norm_rms_epsilon", "is missing");
  config.rms_norm_eps = static_cast<float>(*epsilon);

  // The embedding's rows are the vocabulary, whatever a key may say.
  const auto* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr) {
    throw input_error{file.path().string(),
                      file.tensors().empty()
                          ? "it holds a vocabulary alone, no weights"
                          : "tensor 'token_embd.weight' is missing"};
  }
  config.vocab_size =
      embedding->dimensions.size() == 2 ? embedding->dimensions[1] : 1;
  if (config.vocab_size > limits::width) {
    throw input_error{file.path().string(),
                      "tensor 'token_embd.weight' has an absurd number of "
                      "rows"};
  }
  config.tied_head = file.find_tensor("output.weight") == nullptr;
  config.attention_bias = file.find_tensor("blk.0.attn_q.bias") != nullptr;
  config.mlp_bias = file.find_tensor("blk.0.ffn_gate.bias") != nullptr;
  read_rope(keys, config);
  read_divisors(file, config);
  check_config(file.path().string(), config);
  return config;
}

std::vector<token_id> read_eos(const gguf_file& file,
                               const model_config& config) {
  std::vector<token_id> result;
  for (const auto* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
        "tokenizer.ggml.eom_token_id"}) {
    const auto id = file.integer(key);
    if (!id) continue;
    if (*id < 0 || *id >= config.vocab_size) {
      throw input_error{file.path().string(),
                        "key '" + std::string{key} + "' names id " +
                            std::to_string(*id) + ", the vocabulary has " +
                            std::to_string(config.vocab_size)};
    }
    result.push_back(static_cast<token_id>(*id));
  }
  return result;
}

}  // namespace vouch::engine
