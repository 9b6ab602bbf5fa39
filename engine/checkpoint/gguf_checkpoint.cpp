#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/checkpoint/config_gguf.hpp"
#include "engine/checkpoint/containers.hpp"
#include "engine/checkpoint/gguf.hpp"
#include "engine/checkpoint/tensor_index.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

using name_pair = std::pair<std::string_view, std::string_view>;

/// GGUF's names without ".weight" or ".bias", and Hugging Face's.
constexpr std::array<name_pair, 3> model_names = {{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
}};
constexpr std::array<name_pair, 9> layer_names = {{
    {"attn_norm", "input_layernorm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"ffn_norm", "post_attention_layernorm"},
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
    {"ffn_down", "mlp.down_proj"},
}};

template <class Table>
std::string_view lookup(const Table& table, std::string_view name) {
  for (const auto& [gguf, hugging_face] : table) {
    if (gguf == name) return hugging_face;
  }
  return {};
}

/// "blk.3.attn_q.weight" -> "model.layers.3.self_attn.q_proj.weight"; names
/// that the table does not know stay as they are.
std::string hugging_face_name(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::string{name};
  const auto kind = name.substr(dot);
  auto stem = name.substr(0, dot);
  if (const auto found = lookup(model_names, stem); !found.empty()) {
    return std::string{found} + std::string{kind};
  }
  constexpr std::string_view block = "blk.";
  if (!stem.starts_with(block)) return std::string{name};
  stem.remove_prefix(block.size());
  const auto end = stem.find('.');
  if (end == std::string_view::npos) return std::string{name};
  const auto found = lookup(layer_names, stem.substr(end + 1));
  if (found.empty()) return std::string{name};
  return "model.layers." + std::string{stem.substr(0, end)} + "." +
         std::string{found} + std::string{kind};
}

std::vector<tensor_view> list_tensors(const gguf_file& file) {
  std::vector<tensor_view> result;
  for (const auto& tensor : file.tensors()) {
    if (!tensor.type->kernel_type) {
      throw input_error{file.parts()[tensor.part].path().string(),
                        "tensor '" + std::string{tensor.name} +
                            "' has the type " + std::string{tensor.type->name} +
                            ", which is not supported"};
    }
    tensor_view view;
    view.name = hugging_face_name(tensor.name);
    view.type = *tensor.type->kernel_type;
    view.shape.assign(tensor.dimensions.rbegin(), tensor.dimensions.rend());
    view.data = tensor.data;
    view.bytes = tensor.bytes;
    result.push_back(std::move(view));
  }
  return result;
}

class gguf_checkpoint final : public checkpoint {
 public:
  explicit gguf_checkpoint(const std::filesystem::path& path)
      : file_{gguf_file::open(path)},
        config_{read_config(file_)},
        eos_{read_eos(file_, config_)},
        tensors_{list_tensors(file_)} {
    std::sort(eos_.begin(), eos_.end());
    eos_.erase(std::unique(eos_.begin(), eos_.end()), eos_.end());
  }

  const std::filesystem::path& path() const override { return file_.path(); }
  std::string_view container() const override { return "gguf"; }
  const model_config& config() const override { return config_; }
  const generation_defaults& defaults() const override { return defaults_; }
  std::vector<tensor_view> tensors() const override { return tensors_.all(); }
  const tensor_view* find(std::string_view name) const override {
    return tensors_.find(name);
  }
  std::vector<token_id> eos_tokens() const override { return eos_; }

  const std::byte* ordered_rows(const tensor_view& tensor,
                                std::vector<std::byte>& storage) const override;

  std::string chat_template() const override {
    return std::string{
        file_.string("tokenizer.chat_template").value_or(std::string_view{})};
  }

  std::string default_name() const override {
    auto name = file_.path().stem().string();
    // A part of a split model names the model without its number.
    const auto split = name.find("-00001-of-");
    return split == std::string::npos ? name : name.substr(0, split);
  }

  std::string fingerprint() const override { return file_.fingerprint(); }

 private:
  /// Heads whose rows GGUF keeps in its own order; 0: rows are in place.
  std::int32_t permuted_heads(std::string_view name) const {
    if (name.find(".self_attn.q_proj.") != std::string_view::npos) {
      return config_.heads;
    }
    if (name.find(".self_attn.k_proj.") != std::string_view::npos) {
      return config_.kv_heads;
    }
    return 0;
  }

  gguf_file file_;
  model_config config_;
  generation_defaults defaults_;
  std::vector<token_id> eos_;
  tensor_index tensors_;
};

/// Llama files hold, per head, row s * D/2 + j of Q and K at 2j + s (j < D/2,
/// s in {0, 1}), for rotary kernels that pair neighbours. Ours pair halves.
/// Blocks run along a row, so quantised rows move whole.
const std::byte* gguf_checkpoint::ordered_rows(
    const tensor_view& tensor, std::vector<std::byte>& storage) const {
  const auto heads = permuted_heads(tensor.name);
  if (heads == 0) return tensor.data;
  const auto rows = static_cast<std::size_t>(tensor.shape.front());
  const auto row_bytes = tensor.bytes / rows;
  const auto dimension = rows / static_cast<std::size_t>(heads);
  const auto half = dimension / 2;
  storage.resize(tensor.bytes);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto head = row / dimension;
    const auto s = row % dimension / half;
    const auto j = row % half;
    const auto from = head * dimension + 2 * j + s;
    std::memcpy(storage.data() + row * row_bytes,
                tensor.data + from * row_bytes, row_bytes);
  }
  return storage.data();
}

}  // namespace

std::shared_ptr<checkpoint> open_gguf_file(const std::filesystem::path& path) {
  return std::make_shared<gguf_checkpoint>(path);
}

}  // namespace vouch::engine
