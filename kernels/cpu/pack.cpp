#include <cstring>

#include "kernels/cpu/packed.hpp"
#include "kernels/cpu/weight_memory.hpp"

namespace vouch::kernels {

namespace {

void pack_values(int bits, const quant_block& b, int o, std::uint8_t* out) {
  for (int i = 0; i < quant_block_elements; ++i) {
    const int group = i / group_inputs;
    const int at = group_inputs * o + i % group_inputs;
    if (bits == 8) {
      out[64 * group + at] = b.q[i];
      continue;
    }
    out[64 * (group % 4) + at] = static_cast<std::uint8_t>(
        out[64 * (group % 4) + at] | ((b.q[i] & 15U) << (group < 4 ? 0 : 4)));
    const unsigned high = b.q[i] >> 4;
    std::uint8_t* upper = out + 256 + at;
    if (bits == 5) *upper = static_cast<std::uint8_t>(*upper | (high << group));
    if (bits == 6) {
      upper += 64 * (group / 4);
      *upper = static_cast<std::uint8_t>(*upper | (high << (2 * (group % 4))));
    }
  }
}

/// Writes output o of a block at `out`; true scales stand behind the values.
void pack_block(const quant_traits& t, const quant_block& b, int o,
                std::uint8_t* out) {
  pack_values(t.bits, b, o, out);
  std::uint8_t* scales = out + value_bytes(t.bits);
  if (header_bytes(t.kind) != 0) {
    scales[o] = b.s[0];
    scales[tile_outputs + o] = b.s[1];
    return;
  }
  std::memcpy(scales + 2 * o, &b.d, 2);
  if (t.kind == scale_kind::affine) std::memcpy(scales + 32 + 2 * o, &b.m, 2);
}

void pack_header(const quant_traits& t, const quant_block& b, int o,
                 std::uint8_t* out) {
  std::memcpy(out + 2 * o, &b.d, 2);
  if (header_bytes(t.kind) == 64) std::memcpy(out + 32 + 2 * o, &b.m, 2);
}

/// Output o of a tile of quantised weights, from its row.
void pack_row(dtype type, const std::byte* row, std::int64_t in, int o,
              std::byte* tile) {
  const auto& t = quantization(type);
  auto* out = reinterpret_cast<std::uint8_t*>(tile);
  for (std::int64_t b = 0; b < in / quant_block_elements; ++b) {
    const quant_block block = unpack_block(type, row, b);
    if (header_bytes(t.kind) != 0 && b % super_blocks == 0) {
      pack_header(t, block, o, out);
      out += header_bytes(t.kind);
    }
    pack_block(t, block, o, out);
    out += value_bytes(t.bits) + scale_bytes(t.kind);
  }
}

void interleave_row(std::size_t size, const std::byte* row, std::int64_t in,
                    int o, std::byte* tile) {
  for (std::int64_t i = 0; i < in; ++i) {
    std::memcpy(tile + size * static_cast<std::size_t>(i * tile_outputs + o),
                row + size * static_cast<std::size_t>(i), size);
  }
}

}  // namespace

std::int64_t tile_bytes(dtype type, std::int64_t in) {
  if (!is_quantized(type)) {
    return static_cast<std::int64_t>(row_bytes(type, in)) * tile_outputs;
  }
  const auto& t = quantization(type);
  const std::int64_t blocks = in / quant_block_elements;
  return blocks * (value_bytes(t.bits) + scale_bytes(t.kind)) +
         blocks / super_blocks * header_bytes(t.kind);
}

packed_weights::packed_weights() : impl_{std::make_unique<impl>()} {}
packed_weights::~packed_weights() = default;
packed_weights::packed_weights(packed_weights&&) noexcept = default;
packed_weights& packed_weights::operator=(packed_weights&&) noexcept = default;

packed_weights packed_weights::pack(dtype type, const std::byte* rows,
                                    std::int64_t out, std::int64_t in,
                                    thread_pool& pool) {
  packed_weights w;
  auto& p = *w.impl_;
  p.type = type;
  p.out = out;
  p.in = in;
  p.tiles = (out + tile_outputs - 1) / tile_outputs;
  p.bytes_per_tile = tile_bytes(type, in);
  const auto bytes = static_cast<std::size_t>(p.tiles * p.bytes_per_tile);
  p.data = allocate_weights(bytes);
  const std::size_t row_size = row_bytes(type, in);
  const auto element = static_cast<std::size_t>(traits(type).block_bytes);
  const auto pack_tile = [&](std::int64_t t) {
    std::byte* tile = p.data.get() + t * p.bytes_per_tile;
    std::memset(tile, 0, static_cast<std::size_t>(p.bytes_per_tile));
    for (int o = 0; o < tile_outputs && t * tile_outputs + o < out; ++o) {
      const std::byte* row =
          rows + static_cast<std::size_t>(t * tile_outputs + o) * row_size;
      if (is_quantized(type)) {
        pack_row(type, row, in, o, tile);
      } else {
        interleave_row(element, row, in, o, tile);
      }
    }
  };
  // A page lies near the thread that touches it first: here the one whose share
  // of a matmul the tile will be.
  pool.parallel_ranges(p.tiles, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto t = begin; t < end; ++t) pack_tile(t);
  });
  return w;
}

std::int64_t packed_weights::out() const { return impl_->out; }
std::int64_t packed_weights::in() const { return impl_->in; }
dtype packed_weights::type() const { return impl_->type; }
std::size_t packed_weights::bytes() const {
  return static_cast<std::size_t>(impl_->tiles * impl_->bytes_per_tile);
}

}  // namespace vouch::kernels
