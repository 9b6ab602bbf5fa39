#include <string>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/llama.hpp"
#include "engine/models/weights.hpp"

namespace vouch::engine {

void check_llama(const checkpoint& source) {
  const auto& config = source.config();
  const auto hidden = config.hidden_size;
  const auto width = config.intermediate_size;
  const auto query = std::int64_t{config.heads} * config.head_dim;
  const auto kv = std::int64_t{config.kv_heads} * config.head_dim;
  const auto norm = [&](const std::string& name) {
    require_rows(source, name + ".weight", {hidden});
  };
  const auto linear = [&](const std::string& name, std::int64_t out,
                          std::int64_t in, bool bias) {
    require_rows(source, name + ".weight", {out, in});
    if (bias) require_rows(source, name + ".bias", {out});
  };
  require_rows(source, "model.embed_tokens.weight",
               {config.vocab_size, hidden});
  for (std::int32_t i = 0; i < config.layers; ++i) {
    const auto layer = "model.layers." + std::to_string(i) + ".";
    norm(layer + "input_layernorm");
    linear(layer + "self_attn.q_proj", query, hidden, config.attention_bias);
    linear(layer + "self_attn.k_proj", kv, hidden, config.attention_bias);
    linear(layer + "self_attn.v_proj", kv, hidden, config.attention_bias);
    linear(layer + "self_attn.o_proj", hidden, query, config.attention_bias);
    norm(layer + "post_attention_layernorm");
    linear(layer + "mlp.gate_proj", width, hidden, config.mlp_bias);
    linear(layer + "mlp.up_proj", width, hidden, config.mlp_bias);
    linear(layer + "mlp.down_proj", hidden, width, config.mlp_bias);
  }
  norm("model.norm");
  if (!config.tied_head) linear("lm_head", config.vocab_size, hidden, false);
}

}  // namespace vouch::engine
