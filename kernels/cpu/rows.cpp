#include "kernels/elementwise.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"

namespace vouch::kernels {

void rms_norm(const float* x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t n, float* y, thread_pool& pool) {
  pool.parallel_for(rows, [&](std::int64_t r) {
    reference::rms_norm(x + r * n, weight, epsilon, 1, n, y + r * n);
  });
}

void rope(float* x, std::int64_t stride, std::int64_t rows, int heads,
          int head_dim, const std::int32_t* positions, const rope_table& table,
          thread_pool& pool) {
  pool.parallel_for(rows, [&](std::int64_t r) {
    reference::rope(x + r * stride, stride, 1, heads, head_dim, positions + r,
                    table);
  });
}

void swiglu(const float* gate, const float* up, std::int64_t n, float* y,
            thread_pool&) {
  reference::swiglu(gate, up, n, y);
}

void add(float* x, const float* y, std::int64_t n, thread_pool&) {
  reference::add(x, y, n);
}

void add_bias(float* x, const float* bias, std::int64_t rows, std::int64_t n,
              std::int64_t stride, thread_pool&) {
  reference::add_bias(x, bias, rows, n, stride);
}

float log_sum_exp(const float* logits, std::int64_t n) {
  return reference::log_sum_exp(logits, n);
}

std::int64_t argmax(const float* values, std::int64_t n) {
  return reference::argmax(values, n);
}

}  // namespace vouch::kernels
