// Times the kernels on the shapes of SmolLM2-135M: hidden size 576, 9 heads and
// 3 KV heads of 64, 1536 in the MLP, 30 layers, 49152 tokens; the head Q8_0 and
// the rest Q4_1, as in its GGUF file. Options are Google Benchmark's; a
// benchmark's last argument is the number of threads.
#include <cstring>
#include <random>

#include <benchmark/benchmark.h>

#include "kernels/attention.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/float16.hpp"
#include "kernels/kv_write.hpp"
#include "kernels/log_softmax.hpp"
#include "kernels/matmul.hpp"
#include "kernels/rms_norm.hpp"

namespace vouch::kernels {
namespace {

constexpr std::int64_t hidden = 576;
constexpr std::int64_t kv_width = 192;
constexpr std::int64_t feed_forward = 1536;
constexpr std::int64_t vocabulary = 49152;
constexpr int layers = 30;

std::vector<float> random_floats(std::int64_t n) {
  std::mt19937 random{1};
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n));
  for (auto& v : x) v = normal(random);
  return x;
}

/// Random values; every block's scale is 0.01.
packed_weights random_weights(dtype type, std::int64_t out, std::int64_t in,
                              thread_pool& pool) {
  std::mt19937 random{2};
  std::vector<std::byte> rows(static_cast<std::size_t>(out) *
                              row_bytes(type, in));
  for (auto& b : rows) b = static_cast<std::byte>(random() & 0xFFU);
  const std::uint16_t scale = f32_to_f16(0.01F);
  const auto block = static_cast<std::size_t>(traits(type).block_bytes);
  for (std::size_t i = 0; i < rows.size(); i += block) {
    std::memcpy(&rows[i], &scale, 2);
    if (type == dtype::q4_1) std::memcpy(&rows[i + 2], &scale, 2);
  }
  return packed_weights::pack(type, rows.data(), out, in, pool);
}

/// The seven matrices of a layer.
struct layer_weights {
  explicit layer_weights(thread_pool& pool)
      : q{random_weights(dtype::q4_1, hidden, hidden, pool)},
        k{random_weights(dtype::q4_1, kv_width, hidden, pool)},
        v{random_weights(dtype::q4_1, kv_width, hidden, pool)},
        o{random_weights(dtype::q4_1, hidden, hidden, pool)},
        gate{random_weights(dtype::q4_1, feed_forward, hidden, pool)},
        up{random_weights(dtype::q4_1, feed_forward, hidden, pool)},
        down{random_weights(dtype::q4_1, hidden, feed_forward, pool)} {}

  packed_weights q, k, v, o, gate, up, down;
};

/// All matmuls of a step of `rows` rows; the head runs on `head_rows` of them.
void smollm2_matmuls(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  const std::int64_t head_rows = rows <= 16 ? rows : 1;
  thread_pool pool{static_cast<int>(state.range(1))};
  static std::vector<layer_weights> weights;
  static packed_weights head;
  if (weights.empty()) {
    for (int i = 0; i < layers; ++i) weights.emplace_back(pool);
    head = random_weights(dtype::q8_0, vocabulary, hidden, pool);
  }
  const auto x = random_floats(rows * hidden);
  const auto wide = random_floats(rows * feed_forward);
  std::vector<float> y(static_cast<std::size_t>(rows * 2 * feed_forward));
  std::vector<float> logits(static_cast<std::size_t>(head_rows * vocabulary));
  activations input;
  for (auto _ : state) {
    for (const auto& w : weights) {
      input.assign(x.data(), rows, hidden, true, pool);
      const matmul_job qkv[] = {{&w.q, y.data(), hidden},
                                {&w.k, y.data() + rows * hidden, kv_width},
                                {&w.v, y.data() + rows * 768, kv_width}};
      matmul(qkv, input, pool);
      input.assign(x.data(), rows, hidden, true, pool);
      matmul(w.o, input, y.data(), hidden, pool);
      input.assign(x.data(), rows, hidden, true, pool);
      const matmul_job mlp[] = {
          {&w.gate, y.data(), feed_forward},
          {&w.up, y.data() + rows * feed_forward, feed_forward}};
      matmul(mlp, input, pool);
      input.assign(wide.data(), rows, feed_forward, true, pool);
      matmul(w.down, input, y.data(), hidden, pool);
    }
    input.assign(x.data(), head_rows, hidden, true, pool);
    matmul(head, input, logits.data(), vocabulary, pool);
    benchmark::DoNotOptimize(logits.data());
  }
  state.SetLabel(active_target());
}
BENCHMARK(smollm2_matmuls)
    ->ArgsProduct({{1, 2, 3, 4, 6, 8, 16, 64, 256}, {1, 2}})
    ->ArgNames({"rows", "threads"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// One matmul of 1536 x 576, in cache, by weight type and rows.
void one_matmul(benchmark::State& state) {
  const auto type = static_cast<dtype>(state.range(0));
  const std::int64_t rows = state.range(1);
  const std::int64_t in = traits(type).block_elements == 256 ? 512 : hidden;
  thread_pool pool{1};
  const auto w = random_weights(type, feed_forward, in, pool);
  const auto x = random_floats(rows * in);
  std::vector<float> y(static_cast<std::size_t>(rows * feed_forward));
  activations input;
  input.assign(x.data(), rows, in, true, pool);
  for (auto _ : state) {
    matmul(w, input, y.data(), feed_forward, pool);
    benchmark::DoNotOptimize(y.data());
  }
  state.SetLabel(std::string{traits(type).name});
  state.counters["GOP/s"] = benchmark::Counter(
      static_cast<double>(2 * rows * in * feed_forward) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(one_matmul)
    ->ArgsProduct({benchmark::CreateDenseRange(0, 10, 1), {1, 4, 8, 64}})
    ->ArgNames({"type", "rows"});

/// Attention of one layer, `rows` rows at the end of `context` positions.
void attention_layer(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  const std::int64_t context = state.range(1);
  thread_pool pool{static_cast<int>(state.range(2))};
  const kv_layout layout{3, 64, dtype::f16};
  std::vector<std::int32_t> table;
  for (std::int32_t b = 0; b <= context / kv_block_tokens; ++b) {
    table.push_back(b);
  }
  std::vector<std::byte> layer(table.size() * layout.block_bytes());
  const auto kv = random_floats(context * kv_width);
  reference::kv_write(layout, layer.data(), table.data(), 0, context, kv.data(),
                      kv.data(), kv_width);
  const auto q = random_floats(rows * hidden);
  std::vector<float> out(q.size());
  attention_scratch scratch;
  const attention_rows sequence{table.data(), 0, rows, context - rows};
  for (auto _ : state) {
    attention(layout, layer.data(), {&sequence, 1}, q.data(), hidden, 9, 0.125F,
              out.data(), scratch, pool);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(attention_layer)
    ->ArgsProduct({{1, 4, 256}, {256, 1024, 8192}, {1, 2}})
    ->ArgNames({"rows", "context", "threads"})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

void kv_write_rows(benchmark::State& state) {
  const kv_layout layout{3, 64, dtype::f16};
  const std::int64_t rows = state.range(0);
  std::vector<std::int32_t> table;
  for (std::int32_t b = 0; b <= rows / kv_block_tokens; ++b) table.push_back(b);
  std::vector<std::byte> layer(table.size() * layout.block_bytes());
  const auto kv = random_floats(rows * kv_width);
  thread_pool pool{1};
  const attention_rows sequence{table.data(), 0, rows, 0};
  for (auto _ : state) {
    kv_write(layout, layer.data(), {&sequence, 1}, kv.data(), kv.data(),
             kv_width, pool);
  }
}
BENCHMARK(kv_write_rows)->Arg(1)->Arg(256)->Unit(benchmark::kMicrosecond);

/// The small ops of one row.
void small_ops(benchmark::State& state) {
  thread_pool pool{1};
  auto x = random_floats(feed_forward);
  const auto w = random_floats(feed_forward);
  std::vector<float> y(x.size());
  activations input;
  for (auto _ : state) {
    rms_norm(x.data(), w.data(), 1e-5F, 1, hidden, y.data());
    input.assign(y.data(), 1, hidden, true, pool);
    swiglu(x.data(), w.data(), feed_forward, y.data());
    add(y.data(), w.data(), hidden);
    benchmark::DoNotOptimize(y.data());
  }
}
BENCHMARK(small_ops)->Unit(benchmark::kMicrosecond);

void pick_ops(benchmark::State& state) {
  const auto logits = random_floats(vocabulary);
  for (auto _ : state) {
    benchmark::DoNotOptimize(argmax(logits.data(), vocabulary));
    benchmark::DoNotOptimize(log_sum_exp(logits.data(), vocabulary));
  }
}
BENCHMARK(pick_ops)->Unit(benchmark::kMicrosecond);

/// An empty round of the pool.
void pool_round(benchmark::State& state) {
  thread_pool pool{static_cast<int>(state.range(0))};
  for (auto _ : state) {
    pool.parallel_for(16, [](std::int64_t i) { benchmark::DoNotOptimize(i); });
  }
}
BENCHMARK(pool_round)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace vouch::kernels

BENCHMARK_MAIN();
