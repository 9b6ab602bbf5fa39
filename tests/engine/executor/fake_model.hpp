#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "engine/models/model.hpp"
#include "kernels/kv_write.hpp"

namespace vouch::test {

/// A model without weights that keeps the row contract: it stores a hash of
/// each token and position as K and V, and its logits are a function of what it
/// reads back of all positions up to the row's, layer after layer. So an
/// executor that hands over a wrong block, position or token changes its
/// logits.
class fake_model final : public engine::model {
 public:
  static constexpr int dim = 8;

  explicit fake_model(std::int64_t vocab_size = 50) {
    config_.family = "fake";
    config_.vocab_size = vocab_size;
    config_.layers = 2;
    config_.heads = 1;
    config_.kv_heads = 1;
    config_.head_dim = dim;
    config_.max_position = 512;
  }

  /// Called at the start of every forward pass, on the executor's thread.
  std::function<void(const engine::forward_rows&, kernels::thread_pool&)>
      on_forward;
  /// Rows with this input get a NaN.
  engine::token_id nan_token = -1;
  /// Rows with this input get logits of 0.
  engine::token_id zero_token = -1;

  const engine::model_config& config() const override { return config_; }
  std::size_t weight_bytes() const override { return 0; }

  void forward(const engine::forward_rows& rows, const engine::kv_memory& kv,
               float* logits, kernels::thread_pool& pool) override {
    if (on_forward) {
      on_forward(rows, pool);
    }
    store(rows, kv);
    std::size_t next = 0;
    for (const auto& sequence : rows.sequences) {
      for (std::int64_t i = 0; i < sequence.rows; ++i) {
        const std::int64_t row = sequence.first_row + i;
        if (next < rows.logits_rows.size() && rows.logits_rows[next] == row) {
          float* out =
              logits + static_cast<std::int64_t>(next) * config_.vocab_size;
          read_row(sequence, sequence.first_position + i, kv, out);
          if (rows.tokens[static_cast<std::size_t>(row)] == nan_token) {
            out[3] = NAN;
          }
          if (rows.tokens[static_cast<std::size_t>(row)] == zero_token) {
            for (std::int64_t t = 0; t < config_.vocab_size; ++t) {
              out[t] = t % 2 == 0 ? 0.0F : -0.0F;
            }
          }
          ++next;
        }
      }
    }
    if (next != rows.logits_rows.size()) {
      throw std::logic_error{"logits rows are not ascending rows"};
    }
  }

 private:
  static float hash(std::uint32_t x) {
    x = (x ^ (x >> 15)) * 0x2c1b3c6dU;
    x = (x ^ (x >> 12)) * 0x297a2d39U;
    return static_cast<float>((x ^ (x >> 15)) % 257U) / 64.0F - 2.0F;
  }

  void store(const engine::forward_rows& rows, const engine::kv_memory& kv) {
    for (const auto& sequence : rows.sequences) {
      for (std::int64_t i = 0; i < sequence.rows; ++i) {
        const auto row = static_cast<std::size_t>(sequence.first_row + i);
        const std::int64_t position = sequence.first_position + i;
        if (rows.positions[row] != position) {
          throw std::logic_error{"positions and sequences disagree"};
        }
        for (std::int32_t l = 0; l < config_.layers; ++l) {
          float k[dim];
          float v[dim];
          for (int d = 0; d < dim; ++d) {
            const auto x = static_cast<std::uint32_t>(
                ((rows.tokens[row] * 1031 + position) * 17 + l) * 16 + d);
            k[d] = hash(x);
            v[d] = hash(x + 8);
          }
          kernels::reference::kv_write(kv.layout, kv.layer(l),
                                       sequence.block_table, position, 1, k, v,
                                       dim);
        }
      }
    }
  }

  void read_row(const kernels::attention_rows& sequence, std::int64_t position,
                const engine::kv_memory& kv, float* out) const {
    std::vector<std::byte> k(dim * 4);
    std::vector<std::byte> v(dim * 4);
    std::vector<std::uint32_t> sums(dim, 1);
    for (std::int64_t p = 0; p <= position; ++p) {
      for (std::int32_t l = 0; l < config_.layers; ++l) {
        kernels::kv_read(kv.layout, kv.layer(l), sequence.block_table, p,
                         k.data(), v.data());
        for (std::size_t b = 0; b < k.size(); ++b) {
          auto& sum = sums[b % dim];
          sum = sum * 31 + static_cast<std::uint32_t>(k[b]);
          sum = sum * 31 + static_cast<std::uint32_t>(v[b]);
        }
      }
    }
    for (std::int64_t t = 0; t < config_.vocab_size; ++t) {
      out[t] = hash(sums[static_cast<std::size_t>(t % dim)] +
                    static_cast<std::uint32_t>(t) * 2654435761U);
    }
  }

  engine::model_config config_;
};

}  // namespace vouch::test
