#include <algorithm>
#include <string_view>

#include "engine/checkpoint/config_check.hpp"
#include "engine/checkpoint/config_json.hpp"
#include "engine/models/dflash_config.hpp"

namespace vouch::engine {

namespace {

using limits = config_limits;

/// Fields under `dflash_config`, or else at the top level.
class dflash_fields {
 public:
  explicit dflash_fields(const json_object& config)
      : top_{config}, nested_{config.object("dflash_config")} {}

  const json_object& holder(std::string_view field) const {
    return nested_ && nested_->has(field) ? *nested_ : top_;
  }
  bool has(std::string_view field) const { return holder(field).has(field); }
  [[noreturn]] void fail(std::string_view field,
                         const std::string& what) const {
    holder(field).fail(field, what);
  }
  std::int64_t size(std::string_view field, std::int64_t limit,
                    std::optional<std::int64_t> fallback = {},
                    std::int64_t least = 1) const {
    auto value = holder(field).integer(field);
    if (!value) value = fallback;
    if (!value) fail(field, "is missing");
    if (*value < least || *value > limit) {
      fail(field, "is " + std::to_string(*value) + ", not within " +
                      std::to_string(least) + " to " + std::to_string(limit));
    }
    return *value;
  }
  std::int32_t small(std::string_view field, std::int64_t limit,
                     std::optional<std::int64_t> fallback = {},
                     std::int64_t least = 1) const {
    return static_cast<std::int32_t>(size(field, limit, fallback, least));
  }
  float number(std::string_view field, double fallback) const {
    return static_cast<float>(holder(field).number(field).value_or(fallback));
  }
  std::optional<bool> boolean(std::string_view field) const {
    return holder(field).boolean(field);
  }
  std::string string(std::string_view field, const char* fallback) const {
    return holder(field).string(field).value_or(fallback);
  }

 private:
  const json_object& top_;
  std::optional<json_object> nested_;
};

void read_shape(const json_object& top, const dflash_fields& fields,
                dflash_config& config) {
  auto& shape = config.shape;
  shape.family = "dflash";
  shape.vocab_size = fields.size("vocab_size", limits::width);
  shape.hidden_size = fields.size("hidden_size", limits::width);
  shape.intermediate_size = fields.size("intermediate_size", limits::width);
  shape.layers = fields.small("num_hidden_layers", limits::layers);
  shape.heads = fields.small("num_attention_heads", limits::heads);
  shape.kv_heads = fields.small("num_key_value_heads", limits::heads);
  // What transformers' Qwen3Config takes for the rest.
  shape.head_dim = fields.small("head_dim", limits::head_dim, 128);
  shape.max_position =
      fields.small("max_position_embeddings", limits::positions, 32768);
  shape.rms_norm_eps = fields.number("rms_norm_eps", 1e-6);
  shape.attention_bias = fields.boolean("attention_bias").value_or(false);
  shape.tied_head = fields.boolean("tie_word_embeddings").value_or(false);
  read_rope(top, shape);
  config.rotary_dimensions = shape.head_dim;
  for (const auto* field : {"is_neox_style", "rope_is_neox_style"}) {
    if (!fields.boolean(field).value_or(true)) config.interleaved_rope = true;
  }
}

void read_taps(const dflash_fields& fields, dflash_config& config) {
  config.target_layers =
      fields.small("num_target_layers", limits::layers, 0, 0);
  config.tap_width = fields.size("target_hidden_size", limits::width,
                                 config.shape.hidden_size);
  // The second name counts hidden states, whose first is the embedding.
  for (const auto& [field, first] :
       {std::pair{"target_layer_ids", 0},
        std::pair{"aux_hidden_state_layer_ids", 1}}) {
    if (!fields.has(field) || !config.taps.empty()) continue;
    for (const auto id : fields.holder(field).integers(field)) {
      if (id < first || id >= limits::layers) {
        fields.fail(field, "names layer " + std::to_string(id));
      }
      config.taps.push_back(static_cast<std::int32_t>(id - first));
    }
    if (config.taps.empty()) fields.fail(field, "is empty");
  }
}

/// Which layers slide, and over what.
std::vector<std::int32_t> read_windows(const json_object& top,
                                       const dflash_fields& fields,
                                       const dflash_config& config) {
  const auto layers = static_cast<std::size_t>(config.shape.layers);
  std::vector<std::int32_t> windows(layers, 0);
  const auto window = [&](const char* field) {
    return fields.small(field, limits::positions);
  };
  if (!fields.has("layer_types")) {
    if (fields.boolean("use_swa").value_or(false)) {
      windows.assign(layers, window("swa_window_size"));
    } else if (fields.boolean("use_sliding_window").value_or(false) &&
               fields.has("sliding_window")) {
      const auto from = static_cast<std::size_t>(
          fields.small("max_window_layers", limits::layers, 28, 0));
      for (std::size_t i = from; i < layers; ++i) {
        windows[i] = window("sliding_window");
      }
    }
    return windows;
  }
  const auto types = top.strings("layer_types");
  if (types.size() != layers) {
    fields.fail("layer_types", "has " + std::to_string(types.size()) +
                                   " entries for " + std::to_string(layers) +
                                   " layers");
  }
  for (std::size_t i = 0; i < layers; ++i) {
    if (types[i] == "full_attention") continue;
    if (types[i] != "sliding_attention") {
      fields.fail("layer_types", "names '" + types[i] +
                                     "' (full_attention and "
                                     "sliding_attention are known)");
    }
    if (!fields.boolean("use_sliding_window").value_or(true)) {
      fields.fail("use_sliding_window",
                  "is false, but layer_types has sliding layers");
    }
    windows[i] = window("sliding_window");
  }
  return windows;
}

void read_masks(const json_object& top, const dflash_fields& fields,
                dflash_config& config) {
  auto causal = top.boolean("is_causal");
  if (!causal) causal = fields.boolean("causal");
  const bool typed = fields.has("layer_types");
  for (const auto window : read_windows(top, fields, config)) {
    config.masks.push_back({window, causal.value_or(typed && window > 0)});
  }
}

/// What the later variants add.
void read_variant(const json_object& top, const dflash_fields& fields,
                  dflash_config& config) {
  const auto architectures = top.strings("architectures");
  const bool second = std::find(architectures.begin(), architectures.end(),
                                "DFlash2DraftModel") != architectures.end();
  if (second || fields.has("selector_rank")) {
    config.convolution = {fields.small("conv_kernel_size", 64),
                          fields.small("conv_group_size", limits::width)};
    config.selector = {fields.small("selector_rank", limits::width),
                       fields.small("selector_top_k", 4096)};
  }
  const auto projector = fields.string("projector_type", "dflash");
  if (projector != "dflash" && projector != "dspark") {
    config.unsupported = "projector_type '" + projector + "'";
  }
  config.markov_rank = fields.small("markov_rank", limits::width, 0, 0);
  const auto head = fields.string("markov_head_type", "vanilla");
  if (config.markov_rank > 0 && head != "vanilla") {
    config.unsupported = "markov_head_type '" + head + "'";
  }
  config.sample_from_anchor =
      fields.boolean("sample_from_anchor").value_or(projector == "dspark");
  const auto refuse = [&](const char* field) {
    if (fields.boolean(field).value_or(false)) config.unsupported = field;
  };
  refuse("attention_sink_bias");
  refuse("add_swa_attention_sink_bias");
  refuse("shift_label");
  const auto activation = fields.string("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    config.unsupported = "hidden_act '" + activation + "'";
  }
  for (const auto* field : {"quantization_config", "quantization"}) {
    if (top.has(field)) config.unsupported = field;
  }
}

}  // namespace

bool is_dflash(const json_object& config) {
  for (const auto& name : config.strings("architectures")) {
    if (name.find("DFlash") != std::string::npos ||
        name.find("DSpark") != std::string::npos) {
      return true;
    }
  }
  return config.has("dflash_config");
}

dflash_config read_dflash_config(const json_object& config) {
  const dflash_fields fields{config};
  dflash_config result;
  result.file = config.file();
  read_shape(config, fields, result);
  result.block_size = fields.small("block_size", 1024, 16);
  const auto mask = fields.size("mask_token_id", limits::width, {}, 0);
  result.mask_token = static_cast<token_id>(mask);
  read_taps(fields, result);
  read_masks(config, fields, result);
  result.embedding_scale = fields.number("input_embedding_scale", 1);
  result.output_multiplier = fields.number("output_multiplier", 1);
  result.softcap = std::max(0.0F, fields.number("final_logit_softcapping", 0));
  result.value_scale = fields.number("attention_value_scale", 1);
  result.draft_vocab_size =
      fields.size("draft_vocab_size", limits::width, 0, 0);
  read_variant(config, fields, result);
  check_dflash_config(result);
  return result;
}

}  // namespace vouch::engine
