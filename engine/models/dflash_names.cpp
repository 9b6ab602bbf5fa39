#include "engine/models/dflash_names.hpp"

#include <array>
#include <utility>

namespace vouch::engine {

namespace {

using name_pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<name_pair, 4> aliases = {{
    {"encoder.fc.", "fc."},
    {"encoder.output_norm_enc.", "hidden_norm."},
    {"midlayer.", "layers.0."},
    {"logit_head.", "confidence_head."},
}};

/// Tables that are stored as parameters, with or without ".weight".
constexpr std::array<std::string_view, 3> bare_names = {
    "candidate_selector.predecessor_codebook",
    "candidate_selector.successor_codebook", "mask_embedding"};

/// GGUF's whole names, and ours.
constexpr std::array<name_pair, 12> gguf_names = {{
    {"fc.weight", "fc.weight"},
    {"enc.output_norm.weight", "hidden_norm.weight"},
    {"output_norm.weight", "norm.weight"},
    {"token_embd.weight", "embed_tokens.weight"},
    {"output.weight", "lm_head.weight"},
    {"selector_hidden.weight", "candidate_selector.hidden_projection.weight"},
    {"selector_predecessor.weight", "candidate_selector.predecessor_codebook"},
    {"selector_successor.weight", "candidate_selector.successor_codebook"},
    {"markov_w1.weight", "markov_head.markov_w1.weight"},
    {"markov_w2.weight", "markov_head.markov_w2.weight"},
    {"conf_proj.weight", "confidence_head.proj.weight"},
    {"conf_proj.bias", "confidence_head.proj.bias"},
}};

/// What follows "blk.N." up to ".weight" or ".bias" (or the end), and ours.
constexpr std::array<name_pair, 15> gguf_layer_names = {{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
    {"attn_conv_base", "attention_conv.base_kernel"},
    {"ffn_conv_base", "mlp_conv.base_kernel"},
    {"attn_conv_proj", "attention_conv.kernel_projection"},
    {"ffn_conv_proj", "mlp_conv.kernel_projection"},
}};

template <class Table>
std::string_view lookup(const Table& table, std::string_view name) {
  for (const auto& [theirs, ours] : table) {
    if (theirs == name) return ours;
  }
  return {};
}

}  // namespace

std::string dflash_name(std::string_view safetensors) {
  auto name = safetensors;
  constexpr std::string_view prefix = "model.";
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  // t2d is d2t the other way round; the buffer follows from the configuration.
  if (name == "t2d" || name.ends_with("rotary_emb.inv_freq")) return {};
  for (const auto bare : bare_names) {
    if (name.starts_with(bare) && name.substr(bare.size()) == ".weight") {
      return std::string{bare};
    }
  }
  for (const auto& [theirs, ours] : aliases) {
    if (name.starts_with(theirs)) {
      return std::string{ours} + std::string{name.substr(theirs.size())};
    }
  }
  return std::string{name};
}

std::string dflash_name_of_gguf(std::string_view gguf) {
  if (gguf == "rope_freqs.weight") return {};
  if (const auto found = lookup(gguf_names, gguf); !found.empty()) {
    return std::string{found};
  }
  constexpr std::string_view block = "blk.";
  if (!gguf.starts_with(block)) return std::string{gguf};
  const auto rest = gguf.substr(block.size());
  const auto dot = rest.find('.');
  if (dot == std::string_view::npos) return std::string{gguf};
  const auto last = rest.substr(dot + 1);
  const auto kind = last.find('.');
  const auto found = lookup(gguf_layer_names, last.substr(0, kind));
  if (found.empty()) return std::string{gguf};
  auto result =
      "layers." + std::string{rest.substr(0, dot)} + "." + std::string{found};
  if (kind != std::string_view::npos) result += last.substr(kind);
  return result;
}

}  // namespace vouch::engine
