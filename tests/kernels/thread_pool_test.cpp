#include "kernels/thread_pool.hpp"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::kernels {
namespace {

TEST(thread_pool, runs_every_index_once) {
  for (int threads : {1, 2, 3, 8}) {
    thread_pool pool{threads};
    EXPECT_EQ(pool.size(), threads);
    for (std::int64_t count : {0, 1, 2, 7, 64, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
      pool.parallel_for(count, [&](std::int64_t i) {
        runs[static_cast<std::size_t>(i)].fetch_add(1);
      });
      for (const auto& n : runs) EXPECT_EQ(n.load(), 1);
    }
  }
}

TEST(thread_pool, survives_many_rounds) {
  thread_pool pool{4};
  std::int64_t total = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::int64_t count = round % 5;
    // Plain memory: the round's end must order it before the caller's reads.
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    pool.parallel_for(count, [&](std::int64_t i) {
      out[static_cast<std::size_t>(i)] = i + 1;
    });
    for (auto v : out) total += v;
  }
  EXPECT_EQ(total, 20000 / 5 * (0 + 1 + 3 + 6 + 10));
}

TEST(thread_pool, wakes_after_sleeping) {
  thread_pool pool{3};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    std::atomic<int> sum{0};
    pool.parallel_for(16, [&](std::int64_t) { sum.fetch_add(1); });
    EXPECT_EQ(sum.load(), 16);
  }
}

TEST(thread_pool, uses_its_workers) {
  thread_pool pool{2};
  // Two indices that wait for each other need two threads.
  std::atomic<int> arrived{0};
  pool.parallel_for(2, [&](std::int64_t) {
    arrived.fetch_add(1);
    while (arrived.load() < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 2);
}

TEST(thread_pool, rethrows_after_the_others_have_finished) {
  for (int threads : {1, 3}) {
    thread_pool pool{threads};
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> runs{0};
      EXPECT_THROW(pool.parallel_for(20,
                                     [&](std::int64_t i) {
                                       runs.fetch_add(1);
                                       if (i == 7)
                                         throw std::runtime_error{"7"};
                                     }),
                   std::runtime_error);
      EXPECT_EQ(runs.load(), 20);
      // The error is spent; the pool works on.
      pool.parallel_for(20, [&](std::int64_t) { runs.fetch_add(1); });
      EXPECT_EQ(runs.load(), 40);
    }
  }
}

TEST(thread_pool, every_thread_rounds_by_default) {
  // Rounded upward, this is above 1.
  const auto upward = [] {
    const volatile float one = 1.0F;
    const volatile float little = 0x1p-30F;
    return one + little > 1.0F;
  };
  const int before = std::fegetround();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  for (int threads : {1, 3}) {
    thread_pool pool{threads};
    std::atomic<int> wrong{0};
    pool.parallel_for(64, [&](std::int64_t) {
      if (upward()) wrong.fetch_add(1);
    });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_TRUE(upward());
  }
  std::fesetround(before);
}

TEST(thread_pool, costs_nothing_when_idle) {
  thread_pool pool{4};
  pool.parallel_for(8, [](std::int64_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  const std::clock_t before = std::clock();  // CPU time of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  const double used =
      static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.03);
}

}  // namespace
}  // namespace vouch::kernels
