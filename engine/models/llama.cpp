#include "engine/models/llama.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/op_points.hpp"
#include "engine/models/weights.hpp"
#include "kernels/activations.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/kv_write.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rope.hpp"

namespace vouch::engine {

namespace {

// Shapes: R rows of the step, H hidden size, F network width, V vocabulary,
// Q = heads * head_dim, K = kv_heads * head_dim. Weights are {out, in}.

struct linear {
  kernels::packed_weights weight;
  /// [out], or empty.
  std::vector<float> bias;
};

struct llama_layer {
  std::vector<float> attention_norm;  // [H]
  linear query;                       // {Q, H}
  linear key;                         // {K, H}
  linear value;                       // {K, H}
  linear output;                      // {H, Q}
  std::vector<float> network_norm;    // [H]
  linear gate;                        // {F, H}
  linear up;                          // {F, H}
  linear down;                        // {H, F}
};

/// One step's rows between the layers' operations; grown when a step is larger
/// than any before, and kept.
struct llama_scratch {
  std::vector<float> hidden;     // [R][H] the residual stream
  std::vector<float> query;      // [R][Q]
  std::vector<float> key;        // [R][K]
  std::vector<float> value;      // [R][K]
  std::vector<float> attended;   // [R][Q]
  std::vector<float> projected;  // [R][H] not yet added to hidden
  std::vector<float> gate;       // [R][F]
  std::vector<float> up;         // [R][F]
  kernels::activations activations;
  kernels::attention_scratch attention;
  step_clock clock{nullptr};
  op_display ops;
};

class llama final : public model {
 public:
  llama(const checkpoint& source, kernels::thread_pool& pool,
        const load_progress& progress);

  const model_config& config() const override { return config_; }
  std::size_t weight_bytes() const override { return weight_bytes_; }
  void forward(const forward_rows& rows, const kv_memory& kv, float* logits,
               kernels::thread_pool& pool) override;
  bool serves_drafters() const override { return true; }
  void embed(std::span<const token_id> tokens, float* out,
             kernels::thread_pool& pool) const override;
  void apply_head(const float* normed, std::int64_t rows, float* logits,
                  kernels::thread_pool& pool) override;

 private:
  void reserve(const forward_rows& rows);
  void tap(const hidden_taps& taps, std::int32_t index, std::int64_t rows,
           kernels::thread_pool& pool) const;
  void attend(const llama_layer& layer, const forward_rows& rows,
              const kv_memory& kv, std::int32_t index,
              kernels::thread_pool& pool);
  void transform(const llama_layer& layer, std::int64_t rows,
                 std::int32_t index, kernels::thread_pool& pool);
  void head(const forward_rows& rows, float* logits,
            kernels::thread_pool& pool);
  /// A layer and where its output rows go.
  using projection = std::pair<const linear*, float*>;
  void apply(std::initializer_list<projection> projections,
             kernels::thread_pool& pool);

  linear load_linear(const checkpoint& source, const std::string& name,
                     std::int64_t out, std::int64_t in, bool bias,
                     kernels::thread_pool& pool);

  model_config config_;
  std::int64_t query_width_;  // Q
  std::int64_t kv_width_;     // K
  embedding_table embedding_;
  std::vector<llama_layer> layers_;
  std::vector<float> final_norm_;  // [H]
  linear head_;                    // {V, H}
  kernels::rope_table rope_;
  std::size_t weight_bytes_ = 0;
  llama_scratch scratch_;
};

/// True when any of the layers that read the same rows wants their 8-bit form.
template <class... Layers>
bool quantized(const Layers&... layers) {
  return (kernels::wants_quantized_activations(layers.weight.type()) || ...);
}

// ------------------------------------------------------------------ load

linear llama::load_linear(const checkpoint& source, const std::string& name,
                          std::int64_t out, std::int64_t in, bool bias,
                          kernels::thread_pool& pool) {
  linear result;
  result.weight = load_matrix(source, name + ".weight", out, in, pool);
  if (bias) result.bias = load_vector(source, name + ".bias", out);
  weight_bytes_ += result.weight.bytes() + result.bias.size() * sizeof(float);
  return result;
}

llama::llama(const checkpoint& source, kernels::thread_pool& pool,
             const load_progress& progress)
    : config_{source.config()},
      query_width_{std::int64_t{config_.heads} * config_.head_dim},
      kv_width_{std::int64_t{config_.kv_heads} * config_.head_dim},
      embedding_{source, "model.embed_tokens.weight", config_.vocab_size,
                 config_.hidden_size} {
  const auto hidden = config_.hidden_size;
  const auto width = config_.intermediate_size;
  const auto steps = static_cast<double>(config_.layers) + 1;
  const auto report = [&](double done) {
    if (progress) progress(done / steps);
  };
  report(0);
  for (std::int32_t i = 0; i < config_.layers; ++i) {
    const auto name = [&](const char* rest) {
      return "model.layers." + std::to_string(i) + "." + rest;
    };
    const auto load = [&](const char* rest, std::int64_t out, std::int64_t in,
                          bool bias) {
      return load_linear(source, name(rest), out, in, bias, pool);
    };
    const auto biased = config_.attention_bias;
    llama_layer layer;
    layer.attention_norm =
        load_vector(source, name("input_layernorm.weight"), hidden);
    layer.query = load("self_attn.q_proj", query_width_, hidden, biased);
    layer.key = load("self_attn.k_proj", kv_width_, hidden, biased);
    layer.value = load("self_attn.v_proj", kv_width_, hidden, biased);
    layer.output = load("self_attn.o_proj", hidden, query_width_, biased);
    layer.network_norm =
        load_vector(source, name("post_attention_layernorm.weight"), hidden);
    layer.gate = load("mlp.gate_proj", width, hidden, config_.mlp_bias);
    layer.up = load("mlp.up_proj", width, hidden, config_.mlp_bias);
    layer.down = load("mlp.down_proj", hidden, width, config_.mlp_bias);
    layers_.push_back(std::move(layer));
    report(i + 1);
  }
  final_norm_ = load_vector(source, "model.norm.weight", hidden);
  head_ =
      load_linear(source, config_.tied_head ? "model.embed_tokens" : "lm_head",
                  config_.vocab_size, hidden, false, pool);
  report(steps);
}

// --------------------------------------------------------------- forward

void llama::forward(const forward_rows& rows, const kv_memory& kv,
                    float* logits, kernels::thread_pool& pool) {
  if (rows.tokens.empty()) return;
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  reserve(rows);
  scratch_.clock = step_clock{rows.profile};
  const auto& ops = scratch_.ops = op_display{rows};
  scratch_.activations.set_plan(rows.plan);
  embed(rows.tokens, scratch_.hidden.data(), pool);
  scratch_.clock.lap(step_part::embed);
  ops.show(model_op::embed, -1, scratch_.hidden.data(), config_.hidden_size);
  for (std::int32_t i = 0; i < config_.layers; ++i) {
    const auto& layer = layers_[static_cast<std::size_t>(i)];
    attend(layer, rows, kv, i, pool);
    transform(layer, count, i, pool);
    tap(rows.taps, i, count, pool);
  }
  if (const auto taps = static_cast<std::int64_t>(rows.taps.layers.size());
      taps > 0) {
    ops.show(model_op::taps, -1, rows.taps.out, taps * config_.hidden_size);
  }
  head(rows, logits, pool);
  scratch_.clock.lap(step_part::head);
}

void llama::embed(std::span<const token_id> tokens, float* out,
                  kernels::thread_pool& pool) const {
  const auto width = static_cast<std::size_t>(config_.hidden_size);
  const auto count = static_cast<std::int64_t>(tokens.size());
  pool.parallel_for(count, [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    embedding_.read(tokens[r], out + r * width);
  });
}

/// Hands out hidden + projected, the residual stream after layer `index`: what
/// the next norm will have added up, and without adding it here.
void llama::tap(const hidden_taps& taps, std::int32_t index, std::int64_t rows,
                kernels::thread_pool& pool) const {
  const auto& s = scratch_;
  const auto hidden = config_.hidden_size;
  const auto width = static_cast<std::int64_t>(taps.layers.size()) * hidden;
  for (std::size_t j = 0; j < taps.layers.size(); ++j) {
    if (taps.layers[j] != index) continue;
    float* const out = taps.out + static_cast<std::int64_t>(j) * hidden;
    pool.parallel_for(rows, [&](std::int64_t row) {
      const float* stream = s.hidden.data() + row * hidden;
      const float* delta = s.projected.data() + row * hidden;
      float* to = out + row * width;
      for (std::int64_t i = 0; i < hidden; ++i) to[i] = stream[i] + delta[i];
    });
  }
}

/// hidden += output(attention(rope(query(x)), rope(key(x)), value(x))),
/// x = norm(hidden)
void llama::attend(const llama_layer& layer, const forward_rows& rows,
                   const kv_memory& kv, std::int32_t index,
                   kernels::thread_pool& pool) {
  auto& s = scratch_;
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  const auto hidden = config_.hidden_size;
  s.activations.assign_norm(
      s.hidden.data(), index == 0 ? nullptr : s.projected.data(),
      layer.attention_norm.data(), config_.rms_norm_eps, count, hidden,
      quantized(layer.query, layer.key, layer.value), pool);
  s.clock.lap(step_part::norm);
  s.ops.show(model_op::norm, index, s.activations);
  apply({{&layer.query, s.query.data()},
         {&layer.key, s.key.data()},
         {&layer.value, s.value.data()}},
        pool);
  s.clock.lap(step_part::qkv);
  s.ops.show(model_op::query, index, s.query.data(), query_width_);
  s.ops.show(model_op::key, index, s.key.data(), kv_width_);
  s.ops.show(model_op::value, index, s.value.data(), kv_width_);

  kernels::rope(s.query.data(), query_width_, count, config_.heads,
                config_.head_dim, rows.positions.data(), rope_, pool);
  kernels::rope(s.key.data(), kv_width_, count, config_.kv_heads,
                config_.head_dim, rows.positions.data(), rope_, pool);
  s.clock.lap(step_part::rope);
  s.ops.show(model_op::rope_query, index, s.query.data(), query_width_);
  s.ops.show(model_op::rope_key, index, s.key.data(), kv_width_);
  s.ops.show_standing_kv(index, kv);
  auto* memory = kv.layer(index);
  kernels::kv_write(kv.layout, memory, rows.sequences, s.key.data(),
                    s.value.data(), kv_width_, pool);
  s.clock.lap(step_part::kv_write);
  s.ops.show_kv(index, kv);
  const auto scale = 1.0F / std::sqrt(static_cast<float>(config_.head_dim));
  kernels::attention(kv.layout, memory, rows.sequences, s.query.data(),
                     query_width_, config_.heads, scale, s.attended.data(),
                     s.attention, pool);
  s.clock.lap(step_part::attention);
  s.ops.show(model_op::attention, index, s.attended.data(), query_width_);

  s.activations.assign(s.attended.data(), count, query_width_,
                       quantized(layer.output), pool);
  s.clock.lap(step_part::quantize);
  apply({{&layer.output, s.projected.data()}}, pool);
  s.clock.lap(step_part::output);
  s.ops.show(model_op::output, index, s.projected.data(), hidden);
}

/// hidden += down(silu(gate(x)) * up(x)), x = norm(hidden)
void llama::transform(const llama_layer& layer, std::int64_t rows,
                      std::int32_t index, kernels::thread_pool& pool) {
  auto& s = scratch_;
  const auto hidden = config_.hidden_size;
  const auto width = config_.intermediate_size;
  s.activations.assign_norm(s.hidden.data(), s.projected.data(),
                            layer.network_norm.data(), config_.rms_norm_eps,
                            rows, hidden, quantized(layer.gate, layer.up),
                            pool);
  s.clock.lap(step_part::norm);
  s.ops.show(model_op::network_norm, index, s.activations);
  apply({{&layer.gate, s.gate.data()}, {&layer.up, s.up.data()}}, pool);
  s.clock.lap(step_part::gate_up);
  s.ops.show(model_op::gate, index, s.gate.data(), width);
  s.ops.show(model_op::up, index, s.up.data(), width);
  s.activations.assign_swiglu(s.gate.data(), s.up.data(), rows, width,
                              quantized(layer.down), pool);
  s.clock.lap(step_part::activation);
  s.ops.show(model_op::activation, index, s.activations);
  apply({{&layer.down, s.projected.data()}}, pool);
  s.clock.lap(step_part::down);
  s.ops.show(model_op::down, index, s.projected.data(), hidden);
}

/// logits[i] = head(norm(hidden[logits_rows[i]]))
void llama::head(const forward_rows& rows, float* logits,
                 kernels::thread_pool& pool) {
  if (rows.logits_rows.empty()) return;
  auto& s = scratch_;
  const auto hidden = config_.hidden_size;
  const auto count = static_cast<std::int64_t>(rows.logits_rows.size());
  // The rows that matter, moved together: ascending, so that none is
  // overwritten before it is moved.
  const auto bytes = static_cast<std::size_t>(hidden) * sizeof(float);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = rows.logits_rows[static_cast<std::size_t>(i)] * hidden;
    std::memmove(s.hidden.data() + i * hidden, s.hidden.data() + from, bytes);
    std::memmove(s.projected.data() + i * hidden, s.projected.data() + from,
                 bytes);
  }
  s.activations.assign_norm(s.hidden.data(), s.projected.data(),
                            final_norm_.data(), config_.rms_norm_eps, count,
                            hidden, quantized(head_), pool);
  s.ops.show(model_op::final_norm, -1, s.activations);
  kernels::matmul(head_.weight, s.activations, logits, config_.vocab_size,
                  pool);
  s.ops.show(model_op::logits, -1, logits, config_.vocab_size);
}

void llama::apply_head(const float* normed, std::int64_t rows, float* logits,
                       kernels::thread_pool& pool) {
  auto& s = scratch_;
  s.activations.set_plan(kernels::kernel_plan::invariant);
  s.activations.assign(normed, rows, config_.hidden_size, quantized(head_),
                       pool);
  kernels::matmul(head_.weight, s.activations, logits, config_.vocab_size,
                  pool);
}

/// y = weight x + bias for the rows in scratch_.activations, for layers that
/// read the same rows: one round of the pool for all of them.
void llama::apply(std::initializer_list<projection> projections,
                  kernels::thread_pool& pool) {
  std::array<kernels::matmul_job, 3> jobs;
  std::size_t count = 0;
  for (const auto& [layer, y] : projections) {
    jobs.at(count++) = {&layer->weight, y, layer->weight.out()};
  }
  const auto rows = scratch_.activations.rows();
  kernels::matmul({jobs.data(), count}, scratch_.activations, pool);
  for (const auto& [layer, y] : projections) {
    if (!layer->bias.empty()) {
      const auto out = layer->weight.out();
      kernels::add_bias(y, layer->bias.data(), rows, out, out, pool);
    }
  }
}

/// Checks the step's tokens and positions, and makes room for them.
void llama::reserve(const forward_rows& rows) {
  std::int64_t last = 0;
  for (const auto position : rows.positions) {
    if (position < 0 || position >= config_.max_position) {
      throw std::out_of_range{"forward: a position outside the context"};
    }
    last = std::max<std::int64_t>(last, position);
  }
  for (const auto token : rows.tokens) {
    if (token < 0 || token >= config_.vocab_size) {
      throw std::out_of_range{"forward: a token outside the vocabulary"};
    }
  }
  // Positions are computed one by one, so a longer table begins like a shorter
  // one: models with huge contexts pay for what is used.
  if (last >= rope_.positions()) {
    const auto size =
        std::max<std::int64_t>({last + 1, 4096, 2 * rope_.positions()});
    rope_ =
        kernels::rope_table{config_.inverse_frequencies(),
                            std::min<std::int64_t>(size, config_.max_position),
                            config_.rope_attention_factor()};
  }
  const auto count = static_cast<std::int64_t>(rows.tokens.size());
  const auto grow = [&](std::vector<float>& buffer, std::int64_t width) {
    const auto size = static_cast<std::size_t>(count * width);
    if (buffer.size() < size) buffer.resize(size);
  };
  auto& s = scratch_;
  grow(s.hidden, config_.hidden_size);
  grow(s.query, query_width_);
  grow(s.key, kv_width_);
  grow(s.value, kv_width_);
  grow(s.attended, query_width_);
  grow(s.projected, config_.hidden_size);
  grow(s.gate, config_.intermediate_size);
  grow(s.up, config_.intermediate_size);
}

}  // namespace

std::unique_ptr<model> build_llama(const checkpoint& source,
                                   kernels::thread_pool& pool,
                                   const load_progress& progress) {
  return std::make_unique<llama>(source, pool, progress);
}

}  // namespace vouch::engine
