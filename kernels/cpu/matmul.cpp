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
constexpr std::int64_t bytes_per_claim = 131072;

/// How one matmul is cut into claims: a few tiles times some rows each.
struct claims {
  claims(const packed_weights::impl& w, std::int64_t rows) {
    const std::int64_t groups = (std::min(rows, rows_per_claim) + 7) / 8;
    tiles = std::clamp<std::int64_t>(
        bytes_per_claim / groups / std::max<std::int64_t>(w.bytes_per_tile, 1),
        1, std::max<std::int64_t>(w.tiles, 1));
    row_claims = (rows + rows_per_claim - 1) / rows_per_claim;
    tile_claims = (w.tiles + tiles - 1) / tiles;
  }

  std::int64_t tiles;
  std::int64_t tile_claims;
  std::int64_t row_claims;
};

void run_claim(const matmul_job& job, const activations::impl& x,
               const claims& c, std::int64_t tile_claim,
               std::int64_t row_claim) {
  const auto& w = *job.w->get();
  const std::int64_t first_tile = tile_claim * c.tiles;
  const std::int64_t first_row = row_claim * rows_per_claim;
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

/// The claims of several matmuls in one line, cut into a stretch for each
/// thread: thread t's holds the t-th part of every matrix, so that whoever
/// packed a tile reads it, and each reads long runs.
class claim_line {
 public:
  claim_line(std::span<const matmul_job> jobs, const activations::impl& x,
             int threads)
      : jobs_{jobs}, x_{x}, threads_{threads}, count_{stretch(threads)} {}

  std::int64_t count() const { return count_; }

  void run(std::int64_t index) const {
    // About where the pool's own shares lie, then exactly.
    auto t = static_cast<int>(index * threads_ / count_);
    while (stretch(t) > index) --t;
    while (stretch(t + 1) <= index) ++t;
    index -= stretch(t);
    for (const auto& job : jobs_) {
      const claims c{*job.w->get(), x_.rows};
      const std::int64_t begin = part(c, t);
      const std::int64_t tiles = part(c, t + 1) - begin;
      if (index < tiles * c.row_claims) {
        // All tiles of the stretch before the next rows.
        return run_claim(job, x_, c, begin + index % tiles, index / tiles);
      }
      index -= tiles * c.row_claims;
    }
  }

 private:
  /// Thread t's first tile claim.
  std::int64_t part(const claims& c, int t) const {
    return c.tile_claims * t / threads_;
  }
  /// Where thread t's stretch begins.
  std::int64_t stretch(int t) const {
    std::int64_t sum = 0;
    for (const auto& job : jobs_) {
      const claims c{*job.w->get(), x_.rows};
      sum += part(c, t) * c.row_claims;
    }
    return sum;
  }

  std::span<const matmul_job> jobs_;
  const activations::impl& x_;
  int threads_;
  std::int64_t count_;
};

}  // namespace

bool wants_quantized_activations(dtype type) { return is_quantized(type); }

void matmul(std::span<const matmul_job> jobs, const activations& x,
            thread_pool& pool) {
  const claim_line line{jobs, *x.get(), pool.size()};
  pool.parallel_for(line.count(), [&](std::int64_t index) { line.run(index); });
}

void matmul(const packed_weights& w, const activations& x, float* y,
            std::int64_t y_stride, thread_pool& pool) {
  const matmul_job job{&w, y, y_stride};
  matmul({&job, 1}, x, pool);
}

}  // namespace vouch::kernels
