// The row-local ops, for every target. Rows and segments go to the pool; how
// they are cut cannot matter, as no output reads more than its own row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/vec-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// f(i, lanes of x + i, ...) over n floats, 16 at a time; the last, partial
/// vector runs the same code on a padded copy.
template <class F>
HWY_INLINE void map2(const float* a, const float* b, std::int64_t n, float* y,
                     F&& f) {
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    store(f(load(a + i), load(b + i)), y + i);
  }
  if (i < n)
    store_n(f(load_n(a + i, n - i), load_n(b + i, n - i)), y + i, n - i);
}

void rms_norm_row(const float* x, const float* weight, float epsilon,
                  std::int64_t n, float* y) {
  f32x16 squares = zero();
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    const f32x16 v = load(x + i);
    squares = fma(v, v, squares);
  }
  if (i < n) {
    const f32x16 v = load_n(x + i, n - i);
    squares = fma(v, v, squares);
  }
  const float mean = sum(squares) / static_cast<float>(n);
  const f32x16 scale = set1(1.0F / std::sqrt(mean + epsilon));
  map2(weight, x, n, y, [&](f32x16 w, f32x16 v) { return w * (v * scale); });
}

/// One head: pairs (i, i + half).
void rope_head(float* head, int half, const float* cosine, const float* sine) {
  int i = 0;
  for (; i + lane_count <= half; i += lane_count) {
    const f32x16 x0 = load(head + i);
    const f32x16 x1 = load(head + half + i);
    const f32x16 c = load(cosine + i);
    const f32x16 s = load(sine + i);
    store(fma(x0, c, negate(x1 * s)), head + i);
    store(fma(x1, c, x0 * s), head + half + i);
  }
  if (i < half) {
    const std::int64_t n = half - i;
    const f32x16 x0 = load_n(head + i, n);
    const f32x16 x1 = load_n(head + half + i, n);
    const f32x16 c = load_n(cosine + i, n);
    const f32x16 s = load_n(sine + i, n);
    store_n(fma(x0, c, negate(x1 * s)), head + i, n);
    store_n(fma(x1, c, x0 * s), head + half + i, n);
  }
}

void swiglu_part(const float* gate, const float* up, std::int64_t n, float* y) {
  map2(gate, up, n, y, [](f32x16 g, f32x16 u) {
    return g / (set1(1.0F) + exp(negate(g))) * u;
  });
}

void add_part(float* x, const float* y, std::int64_t n) {
  map2(x, y, n, x, [](f32x16 a, f32x16 b) { return a + b; });
}

/// The largest of n floats; a NaN when there is one.
float largest_or_nan(const float* x, std::int64_t n) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  f32x16 best = set1(lowest);
  f32x16 nans = zero();
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    const f32x16 v = load(x + i);
    best = select(best < v, v, best);
    nans = select(is_nan(v), v, nans);
  }
  float result = largest(best);
  for (; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];
    result = std::max(result, x[i]);
  }
  return any(is_nan(nans)) ? std::numeric_limits<float>::quiet_NaN() : result;
}

float log_sum_exp_row(const float* x, std::int64_t n) {
  const float top = largest_or_nan(x, n);
  if (std::isnan(top) || std::isinf(top)) return top;
  f32x16 total = zero();
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    total = total + exp(load(x + i) - set1(top));
  }
  alignas(64) float lanes[lane_count];
  store(total, lanes);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += exp_f32(x[i] - top);
  return top + std::log(sum_lanes(lanes));
}

std::int64_t argmax_row(const float* x, std::int64_t n) {
  const float top = largest_or_nan(x, n);
  if (n == 0 || std::isnan(top)) return -1;
  const f32x16 wanted = set1(top);
  std::int64_t i = 0;
  // The first vector that is not wholly below the largest holds it.
  while (i + lane_count <= n) {
    const f32x16 v = load(x + i);
    if (sum(select(v < wanted, zero(), set1(1.0F))) != 0.0F) break;
    i += lane_count;
  }
  while (x[i] != top) ++i;
  return i;
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(rms_norm_row);
HWY_EXPORT(rope_head);
HWY_EXPORT(swiglu_part);
HWY_EXPORT(add_part);
HWY_EXPORT(log_sum_exp_row);
HWY_EXPORT(argmax_row);

namespace {

/// Fewer floats than this are not worth a second thread.
constexpr std::int64_t grain = 8192;

/// body(first, count) over [0, n) in pieces of about `grain` floats, when one
/// item has `floats` of them.
template <class Body>
void split(std::int64_t n, std::int64_t floats, thread_pool& pool,
           Body&& body) {
  const std::int64_t piece = std::max<std::int64_t>(grain / floats, 1);
  pool.parallel_for((n + piece - 1) / piece, [&](std::int64_t i) {
    body(i * piece, std::min(piece, n - i * piece));
  });
}

}  // namespace

void rms_norm(const float* x, const float* weight, float epsilon,
              std::int64_t rows, std::int64_t n, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    HWY_DYNAMIC_DISPATCH(rms_norm_row)
    (x + r * n, weight, epsilon, n, y + r * n);
  }
}

void rope(float* x, std::int64_t stride, std::int64_t rows, int heads,
          int head_dim, const std::int32_t* positions, const rope_table& table,
          thread_pool& pool) {
  const auto width = static_cast<std::int64_t>(heads) * head_dim;
  split(rows, width, pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      for (std::int64_t h = 0; h < width; h += head_dim) {
        HWY_DYNAMIC_DISPATCH(rope_head)
        (x + r * stride + h, table.dimensions() / 2,
         table.cosines(positions[r]), table.sines(positions[r]));
      }
    }
  });
}

void swiglu(const float* gate, const float* up, std::int64_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(swiglu_part)(gate, up, n, y);
}

void add(float* x, const float* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_part)(x, y, n);
}

void add_bias(float* x, const float* bias, std::int64_t rows, std::int64_t n,
              std::int64_t stride, thread_pool& pool) {
  split(rows, n, pool, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t r = first; r < first + count; ++r) {
      HWY_DYNAMIC_DISPATCH(add_part)(x + r * stride, bias, n);
    }
  });
}

float log_sum_exp(const float* logits, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(log_sum_exp_row)(logits, n);
}

std::int64_t argmax(const float* values, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(argmax_row)(values, n);
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
