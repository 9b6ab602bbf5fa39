#pragma once

#include <cstdint>
#include <memory>

#include "kernels/plan.hpp"
#include "kernels/thread_pool.hpp"

namespace vouch::kernels {

struct activation_block;

/// The rows that one or more matmuls read, made once and shared: the float32
/// values and, for quantised weights (`quantize`), their 8-bit form (per block
/// of 32: scale, 8-bit values, sum). What
/// makes them goes over each row once, while it is in the first-level cache;
/// the bytes are those of the ops one after the other. Memory is kept from call
/// to call.
class activations {
 public:
  activations();
  ~activations();
  activations(activations&&) noexcept;
  activations& operator=(activations&&) noexcept;

  /// Of the matmuls that read the rows assigned from now on.
  void set_plan(kernel_plan plan);

  /// Takes `rows` rows of `in` floats at `x` (contiguous; must stay alive until
  /// the last matmul that reads them).
  void assign(const float* x, std::int64_t rows, std::int64_t in, bool quantize,
              thread_pool& pool);

  /// hidden += delta (unless it is null), then rms_norm(hidden): [rows][in].
  void assign_norm(float* hidden, const float* delta, const float* weight,
                   float epsilon, std::int64_t rows, std::int64_t in,
                   bool quantize, thread_pool& pool);

  /// swiglu(gate, up), [rows][in]; overwrites gate.
  void assign_swiglu(float* gate, const float* up, std::int64_t rows,
                     std::int64_t in, bool quantize, thread_pool& pool);

  std::int64_t rows() const;
  std::int64_t in() const;

  /// What matmuls will read, for whoever looks at it or plants a fault in it:
  /// the 8-bit form, [rows][in / 32], or null where there is none; and the
  /// floats that assign_norm or assign_swiglu made, [rows][in], else null.
  activation_block* blocks();
  float* made();

  struct impl;
  const impl* get() const { return impl_.get(); }

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::kernels
