// Stores a step's K and V rows, block by block: two threads never write to one
// cache line.
#include "kernels/kv_write.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/float16.hpp"
#include "kernels/kv_block_map.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/kv_write.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// n floats as the cache keeps them.
HWY_INLINE void convert(const float* x, std::int64_t n, float* out) {
  std::memcpy(out, x, static_cast<std::size_t>(n) * sizeof(float));
}
HWY_INLINE void convert(const float* x, std::int64_t n, std::uint16_t* out) {
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) store_f16(load(x + i), out + i);
  for (; i < n; ++i) out[i] = f32_to_f16(x[i]);
}

/// Rows of consecutive tokens of one block.
template <class Element>
void write_rows(const kv_layout& layout, std::byte* block, std::size_t token,
                std::int64_t rows, const float* k, const float* v,
                std::int64_t stride) {
  const block_map map{layout};
  const std::int64_t dim = layout.head_dim;
  auto* const out = reinterpret_cast<Element*>(block);
  // The dimensions of a head that are turned at a time.
  constexpr std::int64_t most = 64;
  Element turned[most];
  for (std::int64_t r = 0; r < rows; ++r, ++token, k += stride, v += stride) {
    for (int h = 0; h < layout.kv_heads; ++h) {
      const auto head = static_cast<std::size_t>(h);
      convert(v + h * dim, dim, out + map.v(head, 0, token));
      for (std::int64_t first = 0; first < dim; first += most) {
        const std::int64_t n = std::min(most, dim - first);
        convert(k + h * dim + first, n, turned);
        Element* to = out + map.k(head, static_cast<std::size_t>(first), token);
        for (std::int64_t d = 0; d < n; ++d)
          to[d * kv_block_tokens] = turned[d];
      }
    }
  }
}

void kv_write_rows(const kv_layout& layout, std::byte* block, std::size_t token,
                   std::int64_t rows, const float* k, const float* v,
                   std::int64_t stride) {
  if (layout.type == dtype::f16) {
    write_rows<std::uint16_t>(layout, block, token, rows, k, v, stride);
  } else {
    write_rows<float>(layout, block, token, rows, k, v, stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(kv_write_rows);

namespace {

/// The rows of a sequence's step that lie in block `index` of its table.
struct block_rows {
  block_rows(const attention_rows& s, std::int64_t index)
      : position{std::max(s.first_position, index * kv_block_tokens)},
        row{s.first_row + position - s.first_position},
        count{
            std::min(s.first_position + s.rows, (index + 1) * kv_block_tokens) -
            position} {}

  std::int64_t position;
  std::int64_t row;
  std::int64_t count;
};

/// Blocks that a sequence's step touches.
std::int64_t first_block(const attention_rows& s) {
  return s.first_position / kv_block_tokens;
}
std::int64_t blocks_of(const attention_rows& s) {
  if (s.rows == 0) return 0;
  return (s.first_position + s.rows - 1) / kv_block_tokens - first_block(s) + 1;
}

}  // namespace

void kv_write(const kv_layout& layout, std::byte* layer,
              std::span<const attention_rows> sequences, const float* k,
              const float* v, std::int64_t stride, thread_pool& pool) {
  const std::size_t block_bytes = layout.block_bytes();
  const auto write_block = [&](const attention_rows& s, std::int64_t index) {
    const block_rows part{s, index};
    HWY_DYNAMIC_DISPATCH(kv_write_rows)
    (layout,
     layer + static_cast<std::size_t>(s.block_table[index]) * block_bytes,
     static_cast<std::size_t>(part.position % kv_block_tokens), part.count,
     k + part.row * stride, v + part.row * stride, stride);
  };
  const auto write_sequence = [&](const attention_rows& s) {
    for (std::int64_t b = 0; b < blocks_of(s); ++b) {
      write_block(s, first_block(s) + b);
    }
  };
  std::int64_t rows = 0;
  for (const auto& s : sequences) rows += s.rows;
  // Less than this is done before a second thread is awake.
  constexpr std::int64_t few = 16;
  if (rows <= few) {
    for (const auto& s : sequences) write_sequence(s);
  } else if (sequences.size() == 1) {
    const auto& s = sequences.front();
    pool.parallel_for(blocks_of(s), [&](std::int64_t b) {
      write_block(s, first_block(s) + b);
    });
  } else {
    pool.parallel_for(static_cast<std::int64_t>(sequences.size()),
                      [&](std::int64_t i) {
                        write_sequence(sequences[static_cast<std::size_t>(i)]);
                      });
  }
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
