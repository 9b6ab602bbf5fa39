#include "kernels/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <ctime>
#include <mutex>
#include <sched.h>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cores.hpp"

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

TEST(thread_pool, tells_the_thread_to_a_body_that_asks) {
  for (int threads : {1, 2, 5}) {
    thread_pool pool{threads};
    // Plain memory: no two threads may have the same number at once.
    std::vector<std::int64_t> sums(static_cast<std::size_t>(threads) * 64);
    for (int round = 0; round < 200; ++round) {
      pool.parallel_for(100, [&](std::int64_t i, int thread) {
        sums.at(static_cast<std::size_t>(thread) * 64) += i;
      });
    }
    std::int64_t total = 0;
    for (auto sum : sums) total += sum;
    EXPECT_EQ(total, 200 * 99 * 100 / 2);
  }
}

TEST(thread_pool, idle_threads_take_indices_of_busy_ones) {
  thread_pool pool{2};
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> others{0};
    // Whoever runs index 0 waits for all the others, its own share included.
    pool.parallel_for(64, [&](std::int64_t i) {
      if (i != 0) {
        others.fetch_add(1);
        return;
      }
      while (others.load() < 63) std::this_thread::yield();
    });
    EXPECT_EQ(others.load(), 63);
  }
}

TEST(thread_pool, ranges_depend_on_count_and_size_alone) {
  for (int threads : {1, 2, 3, 8}) {
    thread_pool pool{threads};
    std::vector<std::thread::id> ids(static_cast<std::size_t>(threads));
    for (std::int64_t count : {0, 1, 2, 7, 64, 1000, 64, 7}) {
      using share = std::tuple<int, std::int64_t, std::int64_t>;
      std::mutex mutex;
      std::vector<share> seen;
      pool.parallel_ranges(
          count, [&](std::int64_t begin, std::int64_t end, int thread) {
            const std::lock_guard lock{mutex};
            seen.emplace_back(thread, begin, end);
            auto& id = ids.at(static_cast<std::size_t>(thread));
            if (id == std::thread::id{}) id = std::this_thread::get_id();
            EXPECT_EQ(id, std::this_thread::get_id());
          });
      std::sort(seen.begin(), seen.end());
      const std::int64_t sharers = std::min<std::int64_t>(threads, count);
      ASSERT_EQ(static_cast<std::int64_t>(seen.size()), sharers);
      for (std::int64_t t = 0; t < sharers; ++t) {
        EXPECT_EQ(seen[static_cast<std::size_t>(t)],
                  (share{static_cast<int>(t), count * t / sharers,
                         count * (t + 1) / sharers}));
      }
    }
  }
}

TEST(thread_pool, ranges_rethrow_and_the_pool_works_on) {
  for (int threads : {1, 3}) {
    thread_pool pool{threads};
    for (int round = 0; round < 20; ++round) {
      EXPECT_THROW(
          pool.parallel_ranges(9,
                               [](std::int64_t begin, std::int64_t, int) {
                                 if (begin == 0) throw std::runtime_error{"0"};
                               }),
          std::runtime_error);
      std::atomic<std::int64_t> sum{0};
      pool.parallel_ranges(9, [&](std::int64_t begin, std::int64_t end, int) {
        sum.fetch_add(end - begin);
      });
      EXPECT_EQ(sum.load(), 9);
    }
  }
}

TEST(thread_pool, pins_each_thread_to_its_cpu) {
  auto cpus = allowed_cpus();
  std::reverse(cpus.begin(), cpus.end());
  cpus.resize(std::min<std::size_t>(cpus.size(), 4));
  const scoped_pin caller{cpus.front()};
  const int threads = static_cast<int>(cpus.size());
  thread_pool pool{threads, cpus};
  pool.parallel_ranges(threads, [&](std::int64_t, std::int64_t, int thread) {
    EXPECT_EQ(allowed_cpus(),
              std::vector{cpus[static_cast<std::size_t>(thread)]});
    EXPECT_EQ(sched_getcpu(), cpus[static_cast<std::size_t>(thread)]);
  });
  EXPECT_THROW((thread_pool{threads + 1, cpus}), std::invalid_argument);
  // No machine has this CPU; what was started has to end before the throw.
  if (threads > 1) {
    cpus.back() = 16000;
    EXPECT_THROW((thread_pool{threads, cpus}), std::system_error);
  }
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
  std::this_thread::sleep_for(std::chrono::seconds{1});
  const double used =
      static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(used, 0.03);
}

}  // namespace
}  // namespace vouch::kernels
