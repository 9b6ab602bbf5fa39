#include "kernels/attention.hpp"

namespace vouch::kernels {

void attention(const kv_layout& layout, const std::byte* layer,
               std::span<const attention_rows> sequences, const float* q,
               std::int64_t stride, int heads, float scale, float* out,
               attention_scratch&, thread_pool& pool) {
  pool.parallel_for(
      static_cast<std::int64_t>(sequences.size()), [&](std::int64_t i) {
        reference::attention(layout, layer,
                             sequences.subspan(static_cast<std::size_t>(i), 1),
                             q, stride, heads, scale, out);
      });
}

}  // namespace vouch::kernels
