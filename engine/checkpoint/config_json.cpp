#include "engine/checkpoint/config_json.hpp"

#include <algorithm>
#include <string>

#include "engine/checkpoint/config_check.hpp"
#include "engine/models/families.hpp"

namespace vouch::engine {

namespace {

void refuse_unsupported(const json_object& config,
                        std::string_view architecture) {
  for (const auto* field : {"quantization_config", "quantization"}) {
    if (config.has(field)) {
      config.fail(field, "is set: quantised safetensors are not supported");
    }
  }
  const auto activation = config.string("hidden_act").value_or("silu");
  if (activation != "silu" && activation != "swish") {
    config.fail("hidden_act",
                "is '" + activation + "': only 'silu' is supported");
  }
  const auto architectures = config.strings("architectures");
  if (!architectures.empty() &&
      std::find(architectures.begin(), architectures.end(), architecture) ==
          architectures.end()) {
    config.fail("architectures", "names '" + architectures.front() + "', not " +
                                     std::string{architecture});
  }
}

/// What a field is taken for when it is absent: transformers' LlamaConfig and
/// MistralConfig.
struct fallbacks {
  std::int64_t intermediate_size = 11008;
  /// 0: as many as there are heads.
  std::int64_t kv_heads = 0;
  std::int64_t max_position = 2048;
};
constexpr fallbacks llama_fallbacks{};
constexpr fallbacks mistral_fallbacks{14336, 8, 131072};

/// A window that covers every position is none.
void refuse_window(const json_object& config, std::int64_t max_position) {
  if (config.is_null("sliding_window")) return;
  const auto window = config.integer("sliding_window").value_or(4096);
  if (window >= max_position) return;
  config.fail("sliding_window",
              (config.has("sliding_window")
                   ? "is " + std::to_string(window)
                   : "is missing, which means " + std::to_string(window)) +
                  ": attention over a part of the context (of " +
                  std::to_string(max_position) +
                  " tokens) is not supported; a model without a window has "
                  "null here");
}

}  // namespace

void read_rope(const json_object& config, model_config& result) {
  auto rope = config.object("rope_parameters");
  if (!rope) rope = config.object("rope_scaling");
  const auto number = [&](const char* field) -> std::optional<double> {
    return rope ? rope->number(field) : std::nullopt;
  };
  result.rope_theta =
      number("rope_theta").value_or(config.number("rope_theta").value_or(1e4));
  const auto partial =
      number("partial_rotary_factor")
          .value_or(config.number("partial_rotary_factor").value_or(1.0));
  if (partial != 1.0) {
    config.fail("partial_rotary_factor", "other than 1 is not supported");
  }
  if (!rope) return;

  auto& scaling = result.scaling;
  const auto* type_field = rope->has("rope_type") ? "rope_type" : "type";
  const auto type = rope->string(type_field).value_or("default");
  if (type == "default") return;
  const auto required = [&](const char* field) {
    const auto value = rope->number(field);
    if (!value) rope->fail(field, "is missing");
    return *value;
  };
  // Length the model was trained at, for what scales beyond it.
  const auto original =
      number("original_max_position_embeddings")
          .value_or(config.number("original_max_position_embeddings")
                        .value_or(result.max_position));
  if (type == "linear") {
    scaling.kind = rope_scaling::type::linear;
    scaling.factor = required("factor");
  } else if (type == "llama3") {
    scaling.kind = rope_scaling::type::llama3;
    scaling.factor = required("factor");
    scaling.low_freq_factor = required("low_freq_factor");
    scaling.high_freq_factor = required("high_freq_factor");
    scaling.original_max_position = original;
  } else if (type == "yarn") {
    scaling.kind = rope_scaling::type::yarn;
    scaling.original_max_position = original;
    scaling.factor = number("factor").value_or(result.max_position / original);
    scaling.beta_fast = number("beta_fast").value_or(scaling.beta_fast);
    scaling.beta_slow = number("beta_slow").value_or(scaling.beta_slow);
    scaling.attention_factor = number("attention_factor").value_or(0.0);
    scaling.mscale = number("mscale").value_or(0.0);
    scaling.mscale_all_dim = number("mscale_all_dim").value_or(0.0);
    scaling.truncate = rope->boolean("truncate").value_or(true);
  } else {
    rope->fail(type_field, "is '" + type +
                               "': this scaling is not supported (default, "
                               "linear, llama3 and yarn are)");
  }
}

model_config read_config(const json_object& config) {
  model_config result;
  const auto name = config.string("model_type");
  if (!name) config.fail("model_type", "is missing");
  const auto* family = find_family(*name);
  if (family == nullptr) {
    config.fail("model_type", "is '" + *name +
                                  "': this family is not supported (" +
                                  supported_families() + ")");
  }
  result.family = *name;
  refuse_unsupported(config, family->architecture);
  const bool mistral = *name == "mistral";
  const auto& otherwise = mistral ? mistral_fallbacks : llama_fallbacks;

  const auto size = [&](const char* field, std::int64_t fallback,
                        std::int64_t limit) {
    const auto value = config.integer(field).value_or(fallback);
    if (value < 1 || value > limit) {
      config.fail(field, "is " + std::to_string(value) + ", not within 1 to " +
                             std::to_string(limit));
    }
    return value;
  };
  const auto small = [&](const char* field, std::int64_t fallback,
                         std::int64_t limit) {
    return static_cast<std::int32_t>(size(field, fallback, limit));
  };
  using limits = config_limits;
  result.vocab_size = size("vocab_size", 32000, limits::width);
  result.hidden_size = size("hidden_size", 4096, limits::width);
  result.intermediate_size =
      size("intermediate_size", otherwise.intermediate_size, limits::width);
  result.layers = small("num_hidden_layers", 32, limits::layers);
  result.heads = small("num_attention_heads", 32, limits::heads);
  result.kv_heads =
      small("num_key_value_heads",
            otherwise.kv_heads > 0 ? otherwise.kv_heads : result.heads,
            limits::heads);
  result.max_position = small("max_position_embeddings", otherwise.max_position,
                              limits::positions);
  if (mistral) refuse_window(config, result.max_position);
  if (!config.has("head_dim") && result.hidden_size % result.heads != 0) {
    config.fail("hidden_size",
                "is no multiple of num_attention_heads, and "
                "head_dim is missing");
  }
  result.head_dim =
      small("head_dim", result.hidden_size / result.heads, limits::head_dim);
  result.rms_norm_eps =
      static_cast<float>(config.number("rms_norm_eps").value_or(1e-6));
  // Mistral's layers have no biases, whatever its file may say.
  result.attention_bias =
      !mistral && config.boolean("attention_bias").value_or(false);
  result.mlp_bias = !mistral && config.boolean("mlp_bias").value_or(false);
  result.tied_head = config.boolean("tie_word_embeddings").value_or(false);
  read_rope(config, result);
  check_config(config.file(), result);
  return result;
}

std::vector<token_id> read_eos(const json_object& file,
                               const model_config& config) {
  std::vector<token_id> result;
  for (const auto id : file.integers("eos_token_id")) {
    if (id < 0 || id >= config.vocab_size) {
      file.fail("eos_token_id", "names id " + std::to_string(id) +
                                    ", the vocabulary has " +
                                    std::to_string(config.vocab_size));
    }
    result.push_back(static_cast<token_id>(id));
  }
  return result;
}

generation_defaults read_defaults(const json_object& file) {
  generation_defaults result;
  result.temperature = file.number("temperature");
  result.top_p = file.number("top_p");
  if (const auto top_k = file.integer("top_k")) {
    if (*top_k < -1 || *top_k > config_limits::width) {
      file.fail("top_k", "is " + std::to_string(*top_k));
    }
    result.top_k = static_cast<int>(*top_k);
  }
  result.min_p = file.number("min_p");
  result.repetition_penalty = file.number("repetition_penalty");
  return result;
}

}  // namespace vouch::engine
