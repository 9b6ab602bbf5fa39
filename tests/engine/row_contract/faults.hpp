#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "engine/models/model.hpp"

namespace vouch::test {

/// Ways to break the row contract inside a forward pass, each as small as a
/// wrong kernel would make it: the lowest bit of one number.
enum class fault : std::uint8_t {
  /// Rows differ when they share the step with others.
  batch,
  /// From eight rows on, another kernel.
  eight_rows,
  /// Attention chunks anchored at the cut of a prefill, not at zero.
  cut_logits,
  /// The same, seen only in the K that the cut chunk stores.
  cut_kv,
  /// A row that replaces a rejected draft is not stored.
  stale_kv,
  /// A block that two sequences share changes under them.
  shared_block,
  /// A row's result depends on its index in the batch.
  row_index,
  /// More than two threads: another order.
  threads,
  /// No fault: NaN stands in the rows that a sequence's last block has left,
  /// as a block's last user may have left it. Must change nothing.
  poison,
};

/// `inner` with one fault. Needs a KV cache of f32 where the fault is in it.
class faulty_model final : public engine::model {
 public:
  /// `bit` is the one of a number that is flipped, 0 the lowest.
  faulty_model(std::shared_ptr<engine::model> inner, fault kind, int bit = 0);

  const engine::model_config& config() const override;
  std::size_t weight_bytes() const override;
  void forward(const engine::forward_rows& rows, const engine::kv_memory& kv,
               float* logits, kernels::thread_pool& pool) override;

 private:
  /// K and V of one stored row, layer after layer.
  using stored_row = std::vector<std::vector<float>>;
  stored_row read(const engine::kv_memory& kv, const std::int32_t* table,
                  std::int64_t position) const;
  void write(const engine::kv_memory& kv, const std::int32_t* table,
             std::int64_t position, const stored_row& row) const;
  void nudge_kv(const engine::kv_memory& kv, const std::int32_t* table,
                std::int64_t position) const;
  void nudge(float& value) const;
  void poison_unused_rows(const engine::forward_rows& rows,
                          const engine::kv_memory& kv) const;
  void nudge_logits(const engine::forward_rows& rows, float* logits,
                    const kernels::thread_pool& pool) const;
  void nudge_shared_block(const engine::forward_rows& rows,
                          const engine::kv_memory& kv) const;
  bool hits(const engine::forward_rows& rows, std::int64_t row,
            const kernels::thread_pool& pool) const;

  std::shared_ptr<engine::model> inner_;
  fault kind_;
  std::uint32_t flip_;
  /// By the last block a sequence wrote: the end of what it wrote there.
  std::map<std::int32_t, std::int64_t> written_to_;
};

}  // namespace vouch::test
