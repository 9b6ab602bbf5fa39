#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/model.hpp"
#include "engine/models/op_points.hpp"

namespace vouch::test {

/// One sequence on a model of its own KV memory, in blocks that lie in the
/// pool back to front. Logits are [rows][vocab_size].
class model_runner {
 public:
  model_runner(const engine::checkpoint& source, kernels::thread_pool& pool,
               std::int64_t positions,
               kernels::dtype kv_type = kernels::dtype::f32)
      : pool_{pool}, model_{engine::load_model(source, pool)} {
    const auto& config = model_->config();
    kv_.layout = {config.kv_heads, config.head_dim, kv_type};
    kv_.blocks = static_cast<std::int32_t>(
        (positions + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens);
    memory_.resize(static_cast<std::size_t>(config.layers) *
                   static_cast<std::size_t>(kv_.blocks) *
                   kv_.layout.block_bytes());
    kv_.base = memory_.data();
    table_.resize(static_cast<std::size_t>(kv_.blocks));
    std::iota(table_.rbegin(), table_.rend(), 0);
  }

  engine::model& model() { return *model_; }
  std::int64_t vocabulary() const { return model_->config().vocab_size; }

  /// Computes the tokens after those computed so far; the logits of the last
  /// `wanted` rows (of every row when there are fewer).
  std::vector<float> step(std::span<const engine::token_id> tokens,
                          std::size_t wanted = SIZE_MAX) {
    std::vector<std::int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), next_);
    std::vector<std::int32_t> rows(std::min(wanted, tokens.size()));
    std::iota(rows.begin(), rows.end(),
              static_cast<std::int32_t>(tokens.size() - rows.size()));
    const kernels::attention_rows sequence{
        table_.data(), 0, static_cast<std::int64_t>(tokens.size()), next_};
    std::vector<float> logits(rows.size() *
                              static_cast<std::size_t>(vocabulary()));
    taps_.assign(tokens.size() * tapped_.size() *
                     static_cast<std::size_t>(model_->config().hidden_size),
                 NAN);
    model_->forward({tokens,
                     positions,
                     {&sequence, 1},
                     rows,
                     nullptr,
                     {tapped_, taps_.data()},
                     points_,
                     plan_},
                    kv_, logits.data(), pool_);
    next_ += static_cast<std::int32_t>(tokens.size());
    return logits;
  }

  /// From now on a step keeps the hidden rows of these layers.
  void tap(std::vector<std::int32_t> layers) { tapped_ = std::move(layers); }
  /// Those of the last step, [rows][layers * hidden size].
  const std::vector<float>& taps() const { return taps_; }

  /// From now on steps show their ops; nullptr: no more.
  void show(engine::op_points* points) { points_ = points; }
  /// Of the steps from now on.
  void set_plan(kernels::kernel_plan plan) { plan_ = plan; }

  /// Forgets the sequence.
  void restart() { next_ = 0; }
  /// Forgets the positions from `length` on.
  void truncate(std::int64_t length) {
    next_ = static_cast<std::int32_t>(length);
  }
  const engine::kv_memory& kv() const { return kv_; }
  const std::vector<std::int32_t>& table() const { return table_; }
  /// All of K and V, as stored.
  const std::vector<std::byte>& memory() const { return memory_; }

  /// All tokens, `chunk` at a time from an empty cache.
  std::vector<float> run(std::span<const engine::token_id> tokens,
                         std::size_t chunk) {
    restart();
    std::vector<float> result;
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
      const auto part =
          step(tokens.subspan(at, std::min(chunk, tokens.size() - at)));
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  }

 private:
  kernels::thread_pool& pool_;
  std::unique_ptr<engine::model> model_;
  std::vector<std::byte> memory_;
  std::vector<std::int32_t> table_;
  engine::kv_memory kv_;
  std::vector<std::int32_t> tapped_;
  std::vector<float> taps_;
  engine::op_points* points_ = nullptr;
  std::int32_t next_ = 0;
  kernels::kernel_plan plan_ = kernels::kernel_plan::invariant;
};

struct distance {
  double max = 0;
  double mean = 0;
};

/// Largest and mean absolute difference; infinite when sizes differ or a value
/// is not a number.
inline distance compare(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size() || a.empty()) return {INFINITY, INFINITY};
  distance result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - double{b[i]});
    if (!(difference <= result.max)) result.max = difference;
    result.mean += difference / static_cast<double>(a.size());
  }
  if (std::isnan(result.mean)) return {INFINITY, INFINITY};
  return result;
}

}  // namespace vouch::test
