#include "kernels/matmul.hpp"

#include <algorithm>

#include "kernels/quant_block.hpp"

namespace vouch::kernels {

struct packed_weights::impl {
  dtype type{};
  std::int64_t out = 0;
  std::int64_t in = 0;
  std::vector<std::byte> rows;
};

struct activations::impl {
  const float* x = nullptr;
  std::int64_t rows = 0;
  std::int64_t in = 0;
};

packed_weights::packed_weights() : impl_{std::make_unique<impl>()} {}
packed_weights::~packed_weights() = default;
packed_weights::packed_weights(packed_weights&&) noexcept = default;
packed_weights& packed_weights::operator=(packed_weights&&) noexcept = default;

packed_weights packed_weights::pack(dtype type, const std::byte* rows,
                                    std::int64_t out, std::int64_t in,
                                    thread_pool&) {
  packed_weights w;
  *w.impl_ = {type, out, in, {}};
  w.impl_->rows.assign(
      rows, rows + static_cast<std::size_t>(out) * row_bytes(type, in));
  return w;
}

std::int64_t packed_weights::out() const { return impl_->out; }
std::int64_t packed_weights::in() const { return impl_->in; }
dtype packed_weights::type() const { return impl_->type; }
std::size_t packed_weights::bytes() const { return impl_->rows.size(); }

activations::activations() : impl_{std::make_unique<impl>()} {}
activations::~activations() = default;
activations::activations(activations&&) noexcept = default;
activations& activations::operator=(activations&&) noexcept = default;

void activations::assign(const float* x, std::int64_t rows, std::int64_t in,
                         bool, thread_pool&) {
  *impl_ = {x, rows, in};
}

std::int64_t activations::rows() const { return impl_->rows; }
std::int64_t activations::in() const { return impl_->in; }

bool wants_quantized_activations(dtype type) { return is_quantized(type); }

void matmul(const packed_weights& w, const activations& x, float* y,
            std::int64_t y_stride, thread_pool& pool) {
  const auto& weights = *w.get();
  const auto& input = *x.get();
  constexpr std::int64_t tile = 64;
  pool.parallel_for((weights.out + tile - 1) / tile, [&](std::int64_t t) {
    reference::matmul(
        weights.type,
        weights.rows.data() +
            t * tile *
                static_cast<std::int64_t>(row_bytes(weights.type, weights.in)),
        std::min(tile, weights.out - t * tile), weights.in, input.x, input.rows,
        y + t * tile, y_stride);
  });
}

}  // namespace vouch::kernels
