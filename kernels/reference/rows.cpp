// The slow twins of the row-local ops, in the lanes and the order that the
// vector code has (kernels/lanes.hpp).
#include <cmath>
#include <limits>

#include "kernels/elementwise.hpp"
#include "kernels/exp.hpp"
#include "kernels/lanes.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/softmax_weights.hpp"

namespace vouch::kernels::reference {

void rms_norm(const float* x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t n, float* y) {
  for (std::int64_t r = 0; r < rows; ++r, x += n, y += n) {
    float lanes[lane_count] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      lanes[i % lane_count] = std::fma(x[i], x[i], lanes[i % lane_count]);
    }
    const float mean = sum_lanes(lanes) / static_cast<float>(n);
    const float scale = 1.0F / std::sqrt(mean + epsilon);
    for (std::int64_t i = 0; i < n; ++i) y[i] = weight[i] * (x[i] * scale);
  }
}

void rope(float* x, std::int64_t stride, std::int64_t rows, int heads,
          int head_dim, const std::int32_t* positions,
          const rope_table& table) {
  const int half = table.dimensions() / 2;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* cosine = table.cosines(positions[r]);
    const float* sine = table.sines(positions[r]);
    for (int h = 0; h < heads; ++h) {
      float* head = x + r * stride + static_cast<std::int64_t>(h) * head_dim;
      for (int i = 0; i < half; ++i) {
        const float x0 = head[i];
        const float x1 = head[i + half];
        head[i] = std::fma(x0, cosine[i], -(x1 * sine[i]));
        head[i + half] = std::fma(x1, cosine[i], x0 * sine[i]);
      }
    }
  }
}

void swiglu(const float* gate, const float* up, std::int64_t n, float* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = gate[i] / (1.0F + exp_f32(-gate[i])) * up[i];
  }
}

void add(float* x, const float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] += y[i];
}

void add_bias(float* x, const float* bias, std::int64_t rows, std::int64_t n,
              std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r) add(x + r * stride, bias, n);
}

float log_sum_exp(const float* logits, std::int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(logits[i])) return logits[i];
    if (logits[i] > largest) largest = logits[i];
  }
  if (std::isinf(largest)) return largest;
  float lanes[lane_count] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    lanes[i % lane_count] += exp_f32(logits[i] - largest);
  }
  return largest + std::log(sum_lanes(lanes));
}

std::int64_t argmax(const float* values, std::int64_t n) {
  std::int64_t best = n > 0 ? 0 : -1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) return -1;
    if (values[i] > values[best]) best = i;
  }
  return best;
}

void softmax_weights(const float* x, std::int64_t n, float largest,
                     float temperature, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = exp_f32((x[i] - largest) / temperature);
  }
}

std::uint64_t softmax_mass(const float* x, std::int64_t n, float largest,
                           float temperature) {
  std::uint64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    total += kernels::softmax_mass(exp_f32((x[i] - largest) / temperature));
  }
  return total;
}

}  // namespace vouch::kernels::reference
