// Reads and dot products as fast as they go, for every target.
#include "kernels/machine_limits.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <unistd.h>

#include <hwy/cache_control.h>

#include "kernels/cpu/packed.hpp"
#include "kernels/cpu/weight_memory.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/machine_limits.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dot-inl.hpp"

HWY_BEFORE_NAMESPACE();
#include "kernels/cpu/vnni-inl.hpp"
namespace vouch::kernels {
namespace HWY_NAMESPACE {

/// Some byte that depends on every byte; `bytes` is a multiple of 512.
std::uint8_t read_piece(const std::uint8_t* p, std::int64_t bytes) {
  u8x64 seen[8];
  for (int i = 0; i < 8; ++i) seen[i] = load_bytes64(p + 64 * i);
  for (std::int64_t at = 512; at < bytes; at += 512) {
    HWY_UNROLL(8)
    for (int i = 0; i < 8; ++i) {
      // Ahead of what the hardware fetches by itself across pages.
      hwy::Prefetch(p + at + 64 * i + 2048);
      seen[i] = seen[i] | load_bytes64(p + at + 64 * i);
    }
  }
  for (int i = 1; i < 8; ++i) seen[0] = seen[0] | seen[i];
  std::uint8_t bytes_seen[sizeof(u8x64)];
  std::memcpy(bytes_seen, &seen[0], sizeof bytes_seen);
  std::uint8_t all = 0;
  for (const auto byte : bytes_seen)
    all = static_cast<std::uint8_t>(all | byte);
  return all;
}

/// Runs `count` dot products of 32 inputs with 16 outputs; values
/// [0, 512) are weights below 16, values [512, 1024) activations.
std::int32_t run_dots(const std::uint8_t* values, std::int64_t count) {
  u8x64 w[8];
  for (int g = 0; g < 8; ++g) w[g] = load_bytes64(values + 64 * g);
  const auto* x = reinterpret_cast<const std::int8_t*>(values + 512);
  // Independent sums hide the instruction's latency.
  constexpr int sums = 12;
#if HWY_TARGET == HWY_AVX3_DL
  __m512i acc[sums];
  for (auto& sum : acc) sum = _mm512_setzero_si512();
  __m512i inputs[8];
  for (int g = 0; g < 8; ++g) inputs[g] = _mm512_set1_epi32(load4(x + 4 * g));
  // Eight instructions are one dot product.
  for (std::int64_t i = 0; i < 8 * count; i += sums) {
    HWY_UNROLL(12)
    for (int s = 0; s < sums; ++s) {
      acc[s] = _mm512_dpbusd_epi32(acc[s], w[s % 8].v[0].raw, inputs[s % 8]);
    }
  }
  for (int s = 1; s < sums; ++s) acc[0] = _mm512_add_epi32(acc[0], acc[s]);
  i32x16 total;
  total.v[0].raw = acc[0];
#else
  i32x16 total = set1(std::int32_t{0});
  for (std::int64_t i = 0; i < count; ++i) {
    i32x16 sum;
    for (int p = 0; p < parts; ++p) {
      part(sum, p) = dot<4, 0, 8>(w, x + 32 * (i % sums), p);
    }
    total = total + sum;
  }
#endif
  alignas(64) std::int32_t lanes[lane_count];
  store(total, lanes);
  return lanes[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace vouch::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vouch::kernels {

HWY_EXPORT(read_piece);
HWY_EXPORT(run_dots);

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::int64_t piece_bytes = 1 << 20;
/// The fastest one counts: what held up the others is no limit.
constexpr int passes = 4;
/// Operations of a dot product of 32 inputs with 16 outputs.
constexpr double dot_operations = 2.0 * 32.0 * 16.0;
/// Long enough for the clock and for every thread to have come.
constexpr double dot_seconds = 0.01;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Where results go, so that no compiler may leave out what makes them.
std::atomic<std::int64_t> sink;

}  // namespace

std::size_t read_probe::enough_bytes() {
  const auto cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  constexpr std::size_t least = std::size_t{256} << 20U;
  constexpr std::size_t most = std::size_t{1} << 30U;
  return cache <= 0
             ? least
             : std::clamp(8 * static_cast<std::size_t>(cache), least, most);
}

read_probe::read_probe(std::size_t bytes, thread_pool& pool)
    : bytes_{std::max<std::size_t>(1, (bytes + piece_bytes - 1) / piece_bytes) *
             piece_bytes} {
  data_ = allocate_weights(bytes_);
  // Touched first by the threads that will read it.
  pool.parallel_ranges(
      static_cast<std::int64_t>(bytes_) / piece_bytes,
      [&](std::int64_t begin, std::int64_t end, int) {
        std::memset(data_.get() + begin * piece_bytes, 1,
                    static_cast<std::size_t>((end - begin) * piece_bytes));
      });
}

double read_probe::measure(thread_pool& pool) const {
  double least = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < passes; ++pass) {
    const auto begin = clock_type::now();
    pool.parallel_for(
        static_cast<std::int64_t>(bytes_) / piece_bytes, [&](std::int64_t i) {
          const auto* p = reinterpret_cast<const std::uint8_t*>(data_.get());
          sink = HWY_DYNAMIC_DISPATCH(read_piece)(p + i * piece_bytes,
                                                  piece_bytes);
        });
    least = std::min(least, seconds_since(begin));
  }
  return static_cast<double>(bytes_) / least;
}

double measure_dot_rate(thread_pool& pool) {
  alignas(64) std::uint8_t values[1024];
  for (int i = 0; i < 1024; ++i) {
    values[i] = static_cast<std::uint8_t>(i < 512 ? i % 16 : i % 100 + 1);
  }
  // More pieces than threads, so that none waits long for the last one.
  const std::int64_t pieces = std::int64_t{8} * pool.size();
  const auto time = [&](std::int64_t count) {
    const auto begin = clock_type::now();
    pool.parallel_for(pieces, [&](std::int64_t) {
      sink = HWY_DYNAMIC_DISPATCH(run_dots)(values, count);
    });
    return seconds_since(begin);
  };
  std::int64_t count = 192;
  double least = time(count);
  while (least < dot_seconds) {
    count *= 4;
    least = time(count);
  }
  for (int pass = 1; pass < passes; ++pass) {
    least = std::min(least, time(count));
  }
  return dot_operations * static_cast<double>(count * pieces) / least;
}

}  // namespace vouch::kernels
#endif  // HWY_ONCE
