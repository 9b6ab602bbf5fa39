#include "kernels/activations.hpp"

#include <algorithm>

#include "kernels/cpu/packed.hpp"
#include "kernels/cpu/tile_range.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/rms_norm.hpp"

namespace vouch::kernels {

namespace {

/// Fewer floats than this are not worth another thread's waking up.
constexpr std::int64_t floats_per_claim = 8192;

/// Never smaller: what a vector takes on again it clears first.
template <class T>
T* grown(std::vector<T>& buffer, std::int64_t size) {
  if (buffer.size() < static_cast<std::size_t>(size)) {
    buffer.resize(static_cast<std::size_t>(size));
  }
  return buffer.data();
}

/// make(r) gives row r's floats; `out` is null or takes their 8-bit form.
template <class Make>
void make_rows(std::int64_t rows, std::int64_t in, activation_block* out,
               thread_pool& pool, Make&& make) {
  const std::int64_t piece = std::max<std::int64_t>(
      floats_per_claim / std::max<std::int64_t>(in, 1), 1);
  const std::int64_t blocks = in / quant_block_elements;
  pool.parallel_for((rows + piece - 1) / piece, [&](std::int64_t i) {
    const std::int64_t end = std::min(rows, (i + 1) * piece);
    for (std::int64_t r = i * piece; r < end; ++r) {
      const float* row = make(r);
      if (out != nullptr) quantize_blocks(row, blocks, out + r * blocks);
    }
  });
}

}  // namespace

activations::activations() : impl_{std::make_unique<impl>()} {}
activations::~activations() = default;
activations::activations(activations&&) noexcept = default;
activations& activations::operator=(activations&&) noexcept = default;

activation_block* activations::impl::begin(const float* values,
                                           std::int64_t row_count,
                                           std::int64_t row_floats,
                                           bool quantize) {
  x = values;
  made = nullptr;
  rows = row_count;
  in = row_floats;
  quantized = quantize;
  in_turn = applies_scales_in_turn(plan, rows);
  return quantize ? grown(blocks, rows * (in / quant_block_elements)) : nullptr;
}

void activations::assign(const float* x, std::int64_t rows, std::int64_t in,
                         bool quantize, thread_pool& pool) {
  auto* const blocks = impl_->begin(x, rows, in, quantize);
  if (blocks == nullptr) return;
  make_rows(rows, in, blocks, pool, [&](std::int64_t r) { return x + r * in; });
}

void activations::assign_norm(float* hidden, const float* delta,
                              const float* weight, float epsilon,
                              std::int64_t rows, std::int64_t in, bool quantize,
                              thread_pool& pool) {
  float* const normed = grown(impl_->floats, rows * in);
  auto* const blocks = impl_->begin(normed, rows, in, quantize);
  impl_->made = normed;
  make_rows(rows, in, blocks, pool, [&](std::int64_t r) {
    float* const row = hidden + r * in;
    if (delta != nullptr) add(row, delta + r * in, in);
    rms_norm(row, weight, epsilon, 1, in, normed + r * in);
    return normed + r * in;
  });
}

void activations::assign_swiglu(float* gate, const float* up, std::int64_t rows,
                                std::int64_t in, bool quantize,
                                thread_pool& pool) {
  auto* const blocks = impl_->begin(gate, rows, in, quantize);
  impl_->made = gate;
  make_rows(rows, in, blocks, pool, [&](std::int64_t r) {
    float* const row = gate + r * in;
    swiglu(row, up + r * in, in, row);
    return row;
  });
}

void activations::set_plan(kernel_plan plan) { impl_->plan = plan; }

std::int64_t activations::rows() const { return impl_->rows; }
std::int64_t activations::in() const { return impl_->in; }
activation_block* activations::blocks() {
  return impl_->quantized ? impl_->blocks.data() : nullptr;
}
float* activations::made() { return impl_->made; }

}  // namespace vouch::kernels
