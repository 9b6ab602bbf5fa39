// Times the hand-over of work to the pool's threads, without the work: rounds
// of empty indices, a decode step's sequence of small ones, and the first round
// after the threads have gone to sleep. A benchmark's last argument is the
// number of threads; those beyond the machine's cores show what
// oversubscription costs.
#include <chrono>
#include <thread>

#include <benchmark/benchmark.h>

#include "kernels/thread_pool.hpp"

namespace vouch::kernels {
namespace {

/// Some time of arithmetic that the compiler keeps.
void spend(int rounds) {
  for (int i = 0; i < rounds; ++i) benchmark::DoNotOptimize(i);
}

void thread_counts(benchmark::internal::Benchmark* b) {
  b->ArgName("threads")->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (const int threads : {1, 2, 4, 8, 16, 32, 64}) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    if (threads <= 8 || threads <= cores) b->Arg(threads);
  }
}

/// As many empty indices as there are threads: fork and join alone.
void empty_round(benchmark::State& state) {
  thread_pool pool{static_cast<int>(state.range(0))};
  const auto count = std::max<std::int64_t>(state.range(0), 2);
  for (auto _ : state) {
    pool.parallel_for(count,
                      [](std::int64_t i) { benchmark::DoNotOptimize(i); });
  }
}
BENCHMARK(empty_round)->Apply(thread_counts);

/// 1024 empty indices: the cost of claims.
void many_claims(benchmark::State& state) {
  thread_pool pool{static_cast<int>(state.range(0))};
  for (auto _ : state) {
    pool.parallel_for(1024,
                      [](std::int64_t i) { benchmark::DoNotOptimize(i); });
  }
  state.SetItemsProcessed(1024 * state.iterations());
}
BENCHMARK(many_claims)->Apply(thread_counts);

/// The rounds of one decode step of a model of 30 layers, seven a layer and
/// one more, each of 16 indices of about a microsecond, with what the caller
/// does alone between them.
void decode_step(benchmark::State& state) {
  thread_pool pool{static_cast<int>(state.range(0))};
  for (auto _ : state) {
    for (int op = 0; op < 30 * 7 + 1; ++op) {
      pool.parallel_for(16, [](std::int64_t) { spend(2500); });
      spend(500);
    }
  }
}
BENCHMARK(decode_step)->Apply(thread_counts);

/// A round after 2 ms of idleness: the threads have to be woken.
void round_after_sleep(benchmark::State& state) {
  thread_pool pool{static_cast<int>(state.range(0))};
  for (auto _ : state) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    const auto begin = std::chrono::steady_clock::now();
    pool.parallel_for(16, [](std::int64_t) { spend(25000); });
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(spent.count());
  }
}
BENCHMARK(round_after_sleep)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime();

}  // namespace
}  // namespace vouch::kernels

BENCHMARK_MAIN();
