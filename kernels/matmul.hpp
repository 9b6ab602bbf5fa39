#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/activations.hpp"
#include "kernels/dtype.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

/// A weight matrix W[out][in] rearranged once, at load, into the order in which
/// the matmul reads it. Quantised blocks keep their values exactly.
class packed_weights {
 public:
  packed_weights();
  ~packed_weights();
  packed_weights(packed_weights&&) noexcept;
  packed_weights& operator=(packed_weights&&) noexcept;

  /// Packs the rows at `rows` (row-major, row_bytes(type, in) apart, any
  /// alignment). `in` is a multiple of the type's block; `out` is any number.
  static packed_weights pack(dtype type, const std::byte* rows,
                             std::int64_t out, std::int64_t in,
                             thread_pool& pool);

  std::int64_t out() const;
  std::int64_t in() const;
  dtype type() const;
  /// Bytes held.
  std::size_t bytes() const;

  struct impl;
  const impl* get() const { return impl_.get(); }

 private:
  std::unique_ptr<impl> impl_;
};

/// True when a matmul with weights of `type` reads the 8-bit form.
bool wants_quantized_activations(dtype type);

/// y[r][o] = sum over i of x[r][i] * w[o][i]; y rows are `y_stride` floats
/// apart. With activations of the plan `invariant` row r's bytes depend on x's
/// row r and on w alone: never on how many rows there are, on where r stands
/// among them, or on the thread count.
void matmul(const packed_weights& w, const activations& x, float* y,
            std::int64_t y_stride, thread_pool& pool);

/// One of several matmuls that read the same rows.
struct matmul_job {
  const packed_weights* w = nullptr;
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

/// Several at once (q, k and v; gate and up): one round of the pool instead of
/// one each, the same bytes. Quantised and float weights may be mixed when `x`
/// was assigned with `quantize`.
void matmul(std::span<const matmul_job> jobs, const activations& x,
            thread_pool& pool);

namespace reference {
/// The slow twin of `matmul` with activations of `plan`, from the unpacked
/// rows, one output at a time.
void matmul(dtype type, const std::byte* w, std::int64_t out, std::int64_t in,
            const float* x, std::int64_t rows, float* y, std::int64_t y_stride,
            kernel_plan plan = kernel_plan::invariant);
}  // namespace reference

}  // namespace vouch::kernels
