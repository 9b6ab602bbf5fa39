// The hand-over of jobs with the schedule forced: threads are stopped between
// two atomic steps, where repetition alone never catches them
// (docs/decisions/0002-claiming-work.md).
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/pool_threads.hpp"

namespace vouch::kernels {
namespace {

/// Calls a hook of the test's at every step.
struct hooked {
  static inline std::function<void(pool_step, int)> hook;
  static void at(pool_step step, int thread) {
    if (hook) hook(step, thread);
  }
};

/// A job that counts how often each of its indices runs.
class counted_job {
 public:
  explicit counted_job(std::int64_t count)
      : runs_(static_cast<std::size_t>(count)) {}

  std::int64_t count() const { return static_cast<std::int64_t>(runs_.size()); }

  static void run(void* context, std::int64_t begin, std::int64_t end,
                  int /*thread*/) {
    auto& job = *static_cast<counted_job*>(context);
    for (std::int64_t i = begin; i < end; ++i) {
      if (i >= job.count()) {
        job.beyond_.fetch_add(1);
      } else {
        job.runs_[static_cast<std::size_t>(i)].fetch_add(1);
      }
    }
  }

  /// Indices that did not run once, and runs of indices the job has not.
  int wrong() const {
    int wrong = beyond_.load();
    for (const auto& n : runs_) wrong += n.load() != 1;
    return wrong;
  }

 private:
  std::vector<std::atomic<int>> runs_;
  std::atomic<int> beyond_{0};
};

using hooked_members = pool_members<hooked>;

/// Stops member 1 where it has read its share of the first job and not yet
/// claimed; until `go_on` it stays there.
class late_member {
 public:
  explicit late_member(hooked_members& members, int sharers) {
    hooked::hook = [this](pool_step step, int thread) {
      if (thread == 1 && step == pool_step::share_loaded && !stopped_) {
        stopped_ = true;
        while (!released_) std::this_thread::yield();
      }
      if (thread == 0 && on_caller) on_caller(step);
    };
    thread_ =
        std::thread{[&members, sharers] { members.run_indices(1, sharers); }};
    while (!stopped_) std::this_thread::yield();
  }
  ~late_member() {
    go_on();
    hooked::hook = nullptr;
  }

  /// Lets it run until it finds nothing more to do.
  void go_on() {
    released_ = true;
    if (thread_.joinable()) thread_.join();
  }

  /// The caller's steps, from its own thread.
  std::function<void(pool_step)> on_caller;

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<bool> released_{false};
  std::thread thread_;
};

void publish(hooked_members& members, counted_job& job, int sharers) {
  members.publish(job.count(), sharers, counted_job::run, &job, false);
}

constexpr std::int64_t counts[] = {2, 3, 4, 5, 7, 8, 9, 16, 64};

TEST(thread_pool_schedule, a_claim_read_in_one_job_and_made_in_the_next) {
  for (const auto first : counts) {
    for (const auto second : counts) {
      hooked_members members{2};
      counted_job one{first};
      counted_job two{second};
      publish(members, one, 2);
      late_member late{members, 2};
      members.run_indices(0, 2);
      ASSERT_TRUE(members.finished(2));
      EXPECT_EQ(one.wrong(), 0);
      publish(members, two, 2);
      late.go_on();
      members.run_indices(0, 2);
      ASSERT_TRUE(members.finished(2)) << first << ", " << second;
      EXPECT_EQ(one.wrong(), 0);
      EXPECT_EQ(two.wrong(), 0) << first << ", " << second;
    }
  }
}

TEST(thread_pool_schedule, a_late_thread_between_the_steps_of_publication) {
  for (const auto first : counts) {
    for (const auto second : counts) {
      // Let go when the caller's step number `at` is behind it.
      for (int at = 0; at <= 3; ++at) {
        hooked_members members{3};
        counted_job one{first};
        counted_job two{second};
        publish(members, one, 2);
        late_member late{members, 2};
        members.run_indices(0, 2);
        ASSERT_TRUE(members.finished(3));
        int steps = 0;
        late.on_caller = [&](pool_step step) {
          const bool publishes = step == pool_step::fields_written ||
                                 step == pool_step::share_published;
          if (publishes && steps++ == at) late.go_on();
        };
        publish(members, two, second < 3 ? 2 : 3);
        late.on_caller = nullptr;
        late.go_on();
        members.run_indices(0, 3);
        ASSERT_TRUE(members.finished(3))
            << first << ", " << second << ", " << at;
        EXPECT_EQ(one.wrong(), 0);
        EXPECT_EQ(two.wrong(), 0) << first << ", " << second << ", " << at;
      }
    }
  }
}

TEST(thread_pool_schedule, loot_is_offered_on) {
  hooked_members members{3};
  counted_job job{30};
  publish(members, job, 3);
  // Member 1 runs its own share, takes the upper half of member 2's and stops
  // with its first index claimed; member 0 must get at the rest of it.
  std::atomic<int> ran{0};
  std::atomic<bool> released{false};
  hooked::hook = [&](pool_step step, int thread) {
    if (thread != 1) return;
    if (step == pool_step::ran) ran.fetch_add(1);
    if (step == pool_step::claimed && ran.load() == 10) {
      ran.fetch_add(1);
      while (!released) std::this_thread::yield();
    }
  };
  std::thread other{[&] { members.run_indices(1, 3); }};
  while (ran.load() < 11) std::this_thread::yield();
  members.run_indices(0, 3);
  EXPECT_FALSE(members.finished(3));
  // All but the one index that member 1 holds.
  EXPECT_EQ(job.wrong(), 1);
  released = true;
  other.join();
  hooked::hook = nullptr;
  EXPECT_TRUE(members.finished(3));
  EXPECT_EQ(job.wrong(), 0);
}

/// Gives its core away, or sleeps, at about every third step.
struct jittery {
  static void at(pool_step /*step*/, int thread) {
    thread_local std::uint32_t state =
        2654435761U * static_cast<std::uint32_t>(thread + 1);
    state ^= state << 13U;
    state ^= state >> 17U;
    state ^= state << 5U;
    if (state % 512 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds{50});
    } else if (state % 3 == 0) {
      std::this_thread::yield();
    }
  }
};

TEST(thread_pool_schedule, every_index_once_with_yields_everywhere) {
  // 2 threads spin and sleep; more than the cores there are only sleep.
  for (const int threads : {2, 3, 17}) {
    pool_threads<jittery> pool{threads, {}};
    for (int round = 0; round < 4000; ++round) {
      counted_job job{2 + round * 7 % 41};
      const bool fixed = round % 5 == 0;
      pool.run(job.count(), counted_job::run, &job, fixed);
      ASSERT_EQ(job.wrong(), 0) << threads << " threads, round " << round;
      if (round % 512 == 0) {
        std::this_thread::sleep_for(2 * pool_spin);
      }
    }
  }
}

}  // namespace
}  // namespace vouch::kernels
