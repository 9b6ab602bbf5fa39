// What the threads share out: tiles of outputs, and for many rows pieces of
// them; a sum is never split.
#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/cpu/packed.hpp"
#include "kernels/cpu/tile_range.hpp"

namespace vouch::kernels {

namespace {

/// Rows that one claim works on: their activations stay in the second-level
/// cache while the weights of a few tiles stay in the first.
constexpr std::int64_t rows_per_claim = 64;
/// Bytes of weights that one claim reads for up to 8 rows: some microseconds.
constexpr std::int64_t bytes_per_claim = 262144;

/// How one matmul is cut into claims.
struct claims {
  explicit claims(const packed_weights::impl& w, std::int64_t rows) {
    const std::int64_t groups = (std::min(rows, rows_per_claim) + 7) / 8;
    tiles = std::clamp<std::int64_t>(
        bytes_per_claim / groups / std::max<std::int64_t>(w.bytes_per_tile, 1),
        1, std::max<std::int64_t>(w.tiles, 1));
    tile_claims = (w.tiles + tiles - 1) / tiles;
    count = tile_claims * ((rows + rows_per_claim - 1) / rows_per_claim);
  }

  std::int64_t tiles;
  std::int64_t tile_claims;
  std::int64_t count;
};

void run_claim(const matmul_job& job, const activations::impl& x,
               const claims& c, std::int64_t index) {
  const auto& w = *job.w->get();
  const std::int64_t first_tile = index % c.tile_claims * c.tiles;
  const std::int64_t first_row = index / c.tile_claims * rows_per_claim;
  const tile_range range{
      w,          x,
      job.y,      job.y_stride,
      first_tile, std::min(c.tiles, w.tiles - first_tile),
      first_row,  std::min(rows_per_claim, x.rows - first_row)};
  if (is_quantized(w.type)) {
    quantized_tiles(range);
  } else {
    float_tiles(range);
  }
}

}  // namespace

bool wants_quantized_activations(dtype type) { return is_quantized(type); }

void matmul(std::span<const matmul_job> jobs, const activations& x,
            thread_pool& pool) {
  const auto& input = *x.get();
  std::int64_t total = 0;
  for (const auto& job : jobs) {
    total += claims{*job.w->get(), input.rows}.count;
  }
  pool.parallel_for(total, [&](std::int64_t index) {
    for (const auto& job : jobs) {
      const claims c{*job.w->get(), input.rows};
      if (index < c.count) return run_claim(job, input, c, index);
      index -= c.count;
    }
  });
}

void matmul(const packed_weights& w, const activations& x, float* y,
            std::int64_t y_stride, thread_pool& pool) {
  const matmul_job job{&w, y, y_stride};
  matmul({&job, 1}, x, pool);
}

}  // namespace vouch::kernels
