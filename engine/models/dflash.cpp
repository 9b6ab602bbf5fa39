#include "engine/models/dflash.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "engine/models/dflash_attention.hpp"
#include "engine/models/dflash_convolve.hpp"
#include "engine/models/dflash_select.hpp"
#include "kernels/activations.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/kv_write.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"

namespace vouch::engine {

// Shapes: R rows of a call, and those of dflash_weights.hpp.

/// One call's rows between the operations; grown as needed, and kept.
struct dflash::scratch {
  std::vector<float> taps;              // [R][T] of many sequences
  std::vector<float> hidden;            // [R][H] the residual stream
  std::vector<float> normed;            // [R][H]
  std::vector<float> mixed;             // [R][H] normed, convolved
  std::vector<float> query;             // [R][Q]
  std::vector<float> key;               // [R][K]
  std::vector<float> value;             // [R][K]
  std::vector<float> attended;          // [R][Q]
  std::vector<float> projected;         // [R][H]
  std::vector<float> gate;              // [R][F]
  std::vector<float> up;                // [R][F]
  std::vector<float> dynamic;           // [R][2 * k * G]
  std::vector<float> logits;            // [drafts][V]
  std::vector<std::int32_t> positions;  // [R]
  kernels::activations activations;
  kernels::attention_scratch attention;
  kernels::rope_table rope;
};

namespace {

/// Rows of context that are computed at a time.
constexpr std::int64_t append_rows = 128;

float* room(std::vector<float>& buffer, std::int64_t rows, std::int64_t width) {
  const auto size = static_cast<std::size_t>(rows * width);
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

bool quantized(std::initializer_list<const dflash_linear*> layers) {
  return std::any_of(layers.begin(), layers.end(), [](const auto* layer) {
    return kernels::wants_quantized_activations(layer->weight.type());
  });
}

/// y = weight x + bias, for the rows of `x`.
void apply(const dflash_linear& layer, const kernels::activations& x, float* y,
           kernels::thread_pool& pool) {
  const auto out = layer.weight.out();
  kernels::matmul(layer.weight, x, y, out, pool);
  if (!layer.bias.empty()) {
    kernels::add_bias(y, layer.bias.data(), x.rows(), out, out, pool);
  }
}

}  // namespace

dflash::dflash(std::shared_ptr<const dflash_files> files,
               std::vector<std::int32_t> taps, bool sample_from_anchor,
               kernels::thread_pool& pool)
    : files_{std::move(files)},
      config_{files_->drafter()},
      weights_{load_dflash_weights(
          *files_, static_cast<std::int32_t>(taps.size()), pool)},
      scratch_{std::make_unique<scratch>()} {
  config_.taps = std::move(taps);
  config_.sample_from_anchor = sample_from_anchor;
}

dflash::~dflash() = default;

dflash_context dflash::new_context(std::int64_t first_position) const {
  const auto& shape = config_.shape;
  return {{shape.kv_heads, shape.head_dim, kernels::dtype::f32},
          shape.layers,
          first_position};
}

std::span<const float> dflash::logits() const { return scratch_->logits; }

// --------------------------------------------------------------- context

void dflash::append(dflash_context& context, const float* taps,
                    std::int64_t rows, kernels::thread_pool& pool) {
  const context_rows part{&context, taps, rows};
  append({&part, 1}, pool);
}

void dflash::append(std::span<const context_rows> parts,
                    kernels::thread_pool& pool) {
  for (const auto& part : parts) part.context->reserve(part.rows);
  std::vector<context_rows> pieces;
  std::int64_t rows = 0;
  const auto flush = [&] {
    if (rows > 0) append_chunk(pieces, rows, pool);
    pieces.clear();
    rows = 0;
  };
  for (const auto& part : parts) {
    for (std::int64_t at = 0; at < part.rows;) {
      const auto count = std::min(append_rows - rows, part.rows - at);
      pieces.push_back({part.context,
                        part.taps + at * weights_.tap_projection.weight.in(),
                        count});
      rows += count;
      at += count;
      if (rows == append_rows) flush();
    }
  }
  flush();
}

/// c = norm(fc(taps)); key(c), value(c) of every layer
void dflash::append_chunk(std::span<const context_rows> pieces,
                          std::int64_t rows, kernels::thread_pool& pool) {
  auto& s = *scratch_;
  const auto hidden = config_.shape.hidden_size;
  const auto& fc = weights_.tap_projection;
  const auto width = fc.weight.in();
  const float* taps = pieces.front().taps;
  if (pieces.size() > 1) {
    float* next = room(s.taps, rows, width);
    taps = next;
    for (const auto& piece : pieces) {
      next = std::copy_n(piece.taps, piece.rows * width, next);
    }
  }
  float* projected = room(s.projected, rows, hidden);
  s.activations.assign(taps, rows, width, quantized({&fc}), pool);
  apply(fc, s.activations, projected, pool);
  float* normed = room(s.normed, rows, hidden);
  kernels::rms_norm(projected, weights_.tap_norm.data(),
                    config_.shape.rms_norm_eps, rows, hidden, normed);
  for (std::int32_t i = 0; i < config_.shape.layers; ++i) {
    const auto& layer = weights_.layers[static_cast<std::size_t>(i)];
    s.activations.assign(normed, rows, hidden,
                         quantized({&layer.key, &layer.value}), pool);
    store(pieces, i, rows, pool);
  }
  for (const auto& piece : pieces) piece.context->commit(piece.rows);
}

void dflash::store(std::span<const context_rows> pieces, std::int32_t index,
                   std::int64_t rows, kernels::thread_pool& pool) {
  auto& s = *scratch_;
  const auto& shape = config_.shape;
  const auto& layer = weights_.layers[static_cast<std::size_t>(index)];
  const auto width = std::int64_t{shape.kv_heads} * shape.head_dim;
  float* key = room(s.key, rows, width);
  float* value = room(s.value, rows, width);
  apply(layer.key, s.activations, key, pool);
  apply(layer.value, s.activations, value, pool);
  kernels::rms_norm(key, layer.key_norm.data(), shape.rms_norm_eps,
                    rows * shape.kv_heads, shape.head_dim, key);
  if (config_.value_scale != 1) {
    for (std::int64_t i = 0; i < rows * width; ++i) {
      value[i] *= config_.value_scale;
    }
  }
  s.positions.clear();
  std::int64_t end = 0;
  for (const auto& piece : pieces) {
    const auto at = piece.context->rows();
    for (std::int64_t i = 0; i < piece.rows; ++i) {
      s.positions.push_back(static_cast<std::int32_t>(at + i));
    }
    end = std::max(end, at + piece.rows);
  }
  if (end > s.rope.positions()) {
    auto rotated = shape;
    rotated.head_dim = config_.rotary_dimensions;
    s.rope = kernels::rope_table{
        rotated.inverse_frequencies(),
        std::max<std::int64_t>({end, 1024, 2 * s.rope.positions()}),
        rotated.rope_attention_factor()};
  }
  kernels::rope(key, width, rows, shape.kv_heads, shape.head_dim,
                s.positions.data(), s.rope, pool);
  std::int64_t first = 0;
  for (const auto& piece : pieces) {
    auto& context = *piece.context;
    const kernels::attention_rows stored{context.block_table(), first,
                                         piece.rows, context.rows()};
    kernels::kv_write(context.layout(), context.layer(index), {&stored, 1}, key,
                      value, width, pool);
    first += piece.rows;
  }
}

// ----------------------------------------------------------------- block

std::vector<token_id> dflash::propose(dflash_context& context, token_id anchor,
                                      std::int32_t drafts, model& target,
                                      kernels::thread_pool& pool) {
  if (anchor < 0 || anchor >= config_.shape.vocab_size) {
    throw std::out_of_range{"drafter: an anchor outside the vocabulary"};
  }
  auto& s = *scratch_;
  const auto& shape = config_.shape;
  s.logits.clear();
  const std::int64_t count = std::min(drafts, max_drafts());
  if (count <= 0) return {};
  const auto rows = count + config_.silent_rows();
  context.reserve(rows);
  embed(anchor, rows, target, pool);
  for (std::int32_t i = 0; i < shape.layers; ++i) {
    attend(context, i, rows, pool);
    transform(weights_.layers[static_cast<std::size_t>(i)], rows, pool);
  }
  float* normed = room(s.normed, rows, shape.hidden_size);
  kernels::rms_norm(s.hidden.data(), weights_.final_norm.data(),
                    shape.rms_norm_eps, rows, shape.hidden_size, normed);
  normed += config_.silent_rows() * shape.hidden_size;
  make_logits(normed, count, target, pool);
  const auto vocabulary = static_cast<std::int64_t>(s.logits.size()) / count;
  auto result =
      select_drafts(config_, weights_, anchor,
                    {normed, s.logits.data(), count, vocabulary}, pool);
  const auto& map = files_->draft_to_target();
  if (!map.empty()) {
    for (auto& id : result) id = map[static_cast<std::size_t>(id)];
  }
  return result;
}

/// hidden = embedding[anchor, mask, mask, ...] * scale
void dflash::embed(token_id anchor, std::int64_t rows, model& target,
                   kernels::thread_pool& pool) {
  const auto hidden = config_.shape.hidden_size;
  float* out = room(scratch_->hidden, rows, hidden);
  std::vector<token_id> ids(static_cast<std::size_t>(rows), config_.mask_token);
  ids[0] = anchor;
  if (weights_.embedding) {
    for (std::int64_t row = 0; row < rows; ++row) {
      weights_.embedding->read(ids[static_cast<std::size_t>(row)],
                               out + row * hidden);
    }
  } else {
    target.embed(ids, out, pool);
  }
  if (!weights_.mask_embedding.empty()) {
    for (std::int64_t row = 1; row < rows; ++row) {
      std::copy(weights_.mask_embedding.begin(), weights_.mask_embedding.end(),
                out + row * hidden);
    }
  }
  if (config_.embedding_scale == 1) return;
  for (std::int64_t i = 0; i < rows * hidden; ++i) {
    out[i] *= config_.embedding_scale;
  }
}

/// hidden += output(attention(rope(norm(query(x))), [context, this block])),
/// x = norm(hidden)
void dflash::attend(dflash_context& context, std::int32_t index,
                    std::int64_t rows, kernels::thread_pool& pool) {
  auto& s = *scratch_;
  const auto& shape = config_.shape;
  const auto& layer = weights_.layers[static_cast<std::size_t>(index)];
  const auto hidden = shape.hidden_size;
  const auto width = std::int64_t{shape.heads} * shape.head_dim;
  float* normed = room(s.normed, rows, hidden);
  kernels::rms_norm(s.hidden.data(), layer.attention_norm.data(),
                    shape.rms_norm_eps, rows, hidden, normed);
  const dflash_convolver convolve{config_, layer.attention_convolution};
  const float* x = convolve.before(normed, rows, s.dynamic, s.mixed, pool);

  s.activations.assign(x, rows, hidden,
                       quantized({&layer.query, &layer.key, &layer.value}),
                       pool);
  float* query = room(s.query, rows, width);
  apply(layer.query, s.activations, query, pool);
  const context_rows block{&context, nullptr, rows};
  store({&block, 1}, index, rows, pool);
  kernels::rms_norm(query, layer.query_norm.data(), shape.rms_norm_eps,
                    rows * shape.heads, shape.head_dim, query);
  kernels::rope(query, width, rows, shape.heads, shape.head_dim,
                s.positions.data(), s.rope, pool);
  float* attended = room(s.attended, rows, width);
  const auto scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
  dflash_attention({context.layout(), context.layer(index),
                    context.block_table(), context.rows(), rows, shape.heads},
                   config_.masks[static_cast<std::size_t>(index)], query, scale,
                   attended, s.attention, pool);

  s.activations.assign(attended, rows, width, quantized({&layer.output}), pool);
  float* projected = room(s.projected, rows, hidden);
  apply(layer.output, s.activations, projected, pool);
  const float* delta = convolve.after(projected, rows, s.dynamic, s.mixed);
  kernels::add(s.hidden.data(), delta, rows * hidden);
}

/// hidden += down(silu(gate(x)) * up(x)), x = norm(hidden)
void dflash::transform(const dflash_layer& layer, std::int64_t rows,
                       kernels::thread_pool& pool) {
  auto& s = *scratch_;
  const auto hidden = config_.shape.hidden_size;
  const auto width = config_.shape.intermediate_size;
  kernels::rms_norm(s.hidden.data(), layer.network_norm.data(),
                    config_.shape.rms_norm_eps, rows, hidden, s.normed.data());
  const dflash_convolver convolve{config_, layer.network_convolution};
  const float* x =
      convolve.before(s.normed.data(), rows, s.dynamic, s.mixed, pool);
  s.activations.assign(x, rows, hidden, quantized({&layer.gate, &layer.up}),
                       pool);
  float* gate = room(s.gate, rows, width);
  float* up = room(s.up, rows, width);
  apply(layer.gate, s.activations, gate, pool);
  apply(layer.up, s.activations, up, pool);
  s.activations.assign_swiglu(gate, up, rows, width, quantized({&layer.down}),
                              pool);
  apply(layer.down, s.activations, s.projected.data(), pool);
  const float* delta =
      convolve.after(s.projected.data(), rows, s.dynamic, s.mixed);
  kernels::add(s.hidden.data(), delta, rows * hidden);
}

/// logits = cap * tanh(head(x) * multiplier / cap)
void dflash::make_logits(const float* normed, std::int64_t rows, model& target,
                         kernels::thread_pool& pool) {
  auto& s = *scratch_;
  const auto vocabulary =
      weights_.head ? weights_.head->weight.out() : config_.shape.vocab_size;
  s.logits.resize(static_cast<std::size_t>(rows * vocabulary));
  if (weights_.head) {
    s.activations.assign(normed, rows, config_.shape.hidden_size,
                         quantized({&*weights_.head}), pool);
    apply(*weights_.head, s.activations, s.logits.data(), pool);
  } else {
    target.apply_head(normed, rows, s.logits.data(), pool);
  }
  if (config_.output_multiplier == 1 && config_.softcap == 0) return;
  const auto cap = config_.softcap;
  for (auto& logit : s.logits) {
    logit *= config_.output_multiplier;
    if (cap > 0) logit = std::tanh(logit / cap) * cap;
  }
}

}  // namespace vouch::engine
