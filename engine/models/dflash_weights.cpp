#include "engine/models/dflash_weights.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "engine/error.hpp"
#include "kernels/dequantize.hpp"

namespace vouch::engine {

namespace {

using shape_type = std::vector<std::int64_t>;

/// Reads tensors and writes down which: run without loading, it lists what a
/// form can have.
class dflash_loader {
 public:
  dflash_loader(const dflash_files& files, kernels::thread_pool* pool)
      : files_{files}, pool_{pool} {}

  /// Every name that was asked for.
  const std::set<std::string, std::less<>>& names() const { return names_; }
  std::size_t bytes() const { return bytes_; }

  /// Without a pool always true, so that optional tensors are listed too.
  bool has(const std::string& name) const {
    return pool_ == nullptr || files_.find(name) != nullptr;
  }

  std::vector<float> vector(const std::string& name, std::int64_t size) {
    names_.insert(name);
    if (pool_ == nullptr) return {};
    return counted(load_vector(files_, name, size));
  }

  /// A tensor of several dimensions, flat.
  std::vector<float> table(const std::string& name, const shape_type& shape) {
    names_.insert(name);
    if (pool_ == nullptr) return {};
    const auto& tensor = require_rows(files_, name, shape);
    std::int64_t size = 1;
    for (const auto extent : shape) size *= extent;
    std::vector<float> result(static_cast<std::size_t>(size));
    kernels::dequantize(tensor.type, tensor.data, size, result.data());
    return counted(std::move(result));
  }

  dflash_linear linear(const std::string& name, std::int64_t out,
                       std::int64_t in, bool bias = false) {
    dflash_linear result;
    names_.insert(name + ".weight");
    if (pool_ != nullptr) {
      result.weight = load_matrix(files_, name + ".weight", out, in, *pool_);
      bytes_ += result.weight.bytes();
    }
    if (bias) result.bias = vector(name + ".bias", out);
    return result;
  }

  std::optional<embedding_table> rows(const std::string& name,
                                      std::int64_t count, std::int64_t width) {
    names_.insert(name);
    if (pool_ == nullptr) return {};
    return embedding_table{files_, name, count, width};
  }

 private:
  std::vector<float> counted(std::vector<float> values) {
    bytes_ += values.size() * sizeof(float);
    return values;
  }

  const dflash_files& files_;
  kernels::thread_pool* pool_;
  std::set<std::string, std::less<>> names_;
  std::size_t bytes_ = 0;
};

dflash_layer load_layer(dflash_loader& load, const dflash_config& config,
                        std::int32_t index) {
  const auto& shape = config.shape;
  const auto hidden = shape.hidden_size;
  const auto width = shape.intermediate_size;
  const auto query = std::int64_t{shape.heads} * shape.head_dim;
  const auto kv = std::int64_t{shape.kv_heads} * shape.head_dim;
  const bool biased = shape.attention_bias;
  const auto name = [&](const char* rest) {
    return "layers." + std::to_string(index) + "." + rest;
  };
  dflash_layer layer;
  layer.attention_norm = load.vector(name("input_layernorm.weight"), hidden);
  layer.query = load.linear(name("self_attn.q_proj"), query, hidden, biased);
  layer.key = load.linear(name("self_attn.k_proj"), kv, hidden, biased);
  layer.value = load.linear(name("self_attn.v_proj"), kv, hidden, biased);
  layer.output = load.linear(name("self_attn.o_proj"), hidden, query, biased);
  layer.query_norm =
      load.vector(name("self_attn.q_norm.weight"), shape.head_dim);
  layer.key_norm = load.vector(name("self_attn.k_norm.weight"), shape.head_dim);
  layer.network_norm =
      load.vector(name("post_attention_layernorm.weight"), hidden);
  layer.gate = load.linear(name("mlp.gate_proj"), width, hidden);
  layer.up = load.linear(name("mlp.up_proj"), width, hidden);
  layer.down = load.linear(name("mlp.down_proj"), hidden, width);
  if (!config.convolution) return layer;
  const std::int64_t taps = config.convolution->kernel_size;
  const auto groups = hidden / config.convolution->group_size;
  const auto convolution = [&](const std::string& at) {
    dflash_convolution_weights result;
    result.base = load.table(at + ".base_kernel", {2, taps, hidden});
    result.projection =
        load.linear(at + ".kernel_projection", 2 * taps * groups, hidden);
    return result;
  };
  layer.attention_convolution = convolution(name("attention_conv"));
  layer.network_convolution = convolution(name("mlp_conv"));
  return layer;
}

dflash_weights read(dflash_loader& load, const dflash_files& files,
                    std::int32_t taps) {
  const auto& config = files.drafter();
  const auto hidden = config.shape.hidden_size;
  const auto vocabulary = config.shape.vocab_size;
  const auto drafted =
      config.draft_vocab_size > 0 ? config.draft_vocab_size : vocabulary;
  dflash_weights result;
  result.tap_projection = load.linear("fc", hidden, taps * config.tap_width);
  result.tap_norm = load.vector("hidden_norm.weight", hidden);
  for (std::int32_t i = 0; i < config.shape.layers; ++i) {
    result.layers.push_back(load_layer(load, config, i));
  }
  result.final_norm = load.vector("norm.weight", hidden);
  if (load.has("embed_tokens.weight")) {
    result.embedding = load.rows("embed_tokens.weight", vocabulary, hidden);
  }
  if (load.has("lm_head.weight") || config.draft_vocab_size > 0) {
    result.head = load.linear("lm_head", drafted, hidden);
  } else if (result.embedding && config.shape.tied_head) {
    result.head = load.linear("embed_tokens", vocabulary, hidden);
  }
  if (load.has("mask_embedding")) {
    result.mask_embedding = load.vector("mask_embedding", hidden);
  }
  if (config.selector) {
    const std::string selector = "candidate_selector.";
    const std::int64_t rank = config.selector->rank;
    result.predecessors =
        load.rows(selector + "predecessor_codebook", drafted, rank);
    result.successors =
        load.rows(selector + "successor_codebook", drafted, rank);
    result.selector = load.linear(selector + "hidden_projection", rank, hidden);
  }
  if (config.markov_rank > 0) {
    result.markov_in =
        load.rows("markov_head.markov_w1.weight", drafted, config.markov_rank);
    result.markov_out =
        load.linear("markov_head.markov_w2", drafted, config.markov_rank);
  }
  result.bytes = load.bytes();
  return result;
}

}  // namespace

std::string foreign_tensor(const dflash_files& files, std::int32_t taps) {
  dflash_loader load{files, nullptr};
  read(load, files, taps);
  for (const auto& tensor : files.tensors()) {
    // What a confidence head says is not used: verification decides.
    if (tensor.name.starts_with("confidence_head.")) continue;
    if (!load.names().contains(tensor.name)) return tensor.name;
  }
  return {};
}

dflash_weights load_dflash_weights(const dflash_files& files, std::int32_t taps,
                                   kernels::thread_pool& pool) {
  dflash_loader load{files, &pool};
  return read(load, files, taps);
}

}  // namespace vouch::engine
