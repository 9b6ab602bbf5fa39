#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/models/model_config.hpp"
#include "engine/models/step_profile.hpp"
#include "engine/types.hpp"
#include "kernels/attention.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/plan.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::engine {

class checkpoint;
class op_points;

/// Where a step hands out its rows' hidden states ("taps") to a drafter.
struct hidden_taps {
  /// 0-based layers, in the order in which they lie in a row of `out`.
  std::span<const std::int32_t> layers;
  /// [rows][layers * hidden_size]: the residual stream after each layer, before
  /// the final norm.
  float* out = nullptr;
};

/// The rows of one step, flattened: sequences one after the other, each with
/// consecutive positions.
struct forward_rows {
  /// [rows]
  std::span<const token_id> tokens;
  std::span<const std::int32_t> positions;
  /// Which rows belong to which sequence; covers every row once, in order.
  std::span<const kernels::attention_rows> sequences;
  /// Ascending row indexes that need logits.
  std::span<const std::int32_t> logits_rows;
  /// Where the time of each part is added up, or nullptr.
  step_profile* profile = nullptr;
  /// Handing out taps changes no byte of what the step computes.
  hidden_taps taps = {};
  /// Shown what every op made (op_points.hpp), or nullptr.
  op_points* points = nullptr;
  kernels::kernel_plan plan = kernels::kernel_plan::invariant;
};

/// The KV pool's memory, layer after layer: block b of layer l starts at
/// base + (l * blocks + b) * layout.block_bytes().
struct kv_memory {
  kernels::kv_layout layout;
  std::byte* base = nullptr;
  std::int32_t blocks = 0;

  std::byte* layer(std::int32_t index) const {
    return base + static_cast<std::size_t>(index) *
                      static_cast<std::size_t>(blocks) * layout.block_bytes();
  }
};

/// A model family's weights and forward pass on the CPU. Not thread-safe: its
/// scratch is one step's.
class model {
 public:
  virtual ~model() = default;

  virtual const model_config& config() const = 0;

  /// Computes every row, stores its K and V, and writes the logits of
  /// rows.logits_rows to `logits`, [logits_rows][vocab_size].
  virtual void forward(const forward_rows& rows, const kv_memory& kv,
                       float* logits, kernels::thread_pool& pool) = 0;

  /// Bytes of weights in memory.
  virtual std::size_t weight_bytes() const = 0;

  /// True for a family that fills rows.taps and lends drafters its embedding
  /// and its head; the two calls below throw std::logic_error otherwise.
  virtual bool serves_drafters() const { return false; }
  /// The embedding rows of `tokens`, as the table has them: [tokens][hidden].
  virtual void embed(std::span<const token_id> tokens, float* out,
                     kernels::thread_pool& pool) const;
  /// Logits [rows][vocab_size] of rows that are normed already: `normed`,
  /// [rows][hidden_size]. Not while forward runs.
  virtual void apply_head(const float* normed, std::int64_t rows, float* logits,
                          kernels::thread_pool& pool);
};

/// Called as a load advances, with a share in [0, 1].
using load_progress = std::function<void(double)>;

/// Builds the model that `source` holds. Throws input_error when a tensor is
/// missing or misshapen, or the family is not supported.
std::unique_ptr<model> load_model(const checkpoint& source,
                                  kernels::thread_pool& pool,
                                  const load_progress& progress = {});

/// Throws what load_model would throw, from names, types and shapes alone: no
/// weight is read.
void check_tensors(const checkpoint& source);

}  // namespace vouch::engine
