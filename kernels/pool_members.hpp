#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/pool_schedule.hpp"

namespace vouch::kernels {

/// The hand-over of indices to the threads of a pool, without the threads.
///
/// What is unclaimed of a job stands in words, two for each thread: its share
/// of the job, stored by the caller, and its loot, which it took from others
/// and stores itself. A word is [next, end), and one compare-exchange claims:
/// the owner takes `next`, a thief the upper half.
///
/// Why no index is lost or run twice, however late a thread is:
/// - Every index of the current job is in exactly one word or claimed by one
///   thread: both words change by an exchange that fails unless the word is as
///   it was read, and are stored over only while empty. A share is stored when
///   the job before has ended, so everybody's words are empty; loot is stored
///   by a thread whose words are empty and who alone may store there.
/// - A word says all there is to know: its end is in it. So a thread that read
///   it in a former job and exchanges it in this one (the words are equal) has
///   claimed an index of this job, and that is fine:
/// - the job's fields are read after the exchange, never before. The exchange
///   acquires what was released by storing the word; and as the claimed index
///   has not run, the job cannot end and the fields cannot change.
/// - The caller waits for indices, not for threads: for the sum of what the
///   threads say they have run, each in a counter it alone writes.
template <class Schedule>
class pool_members {
 public:
  using task = void (*)(void* context, std::int64_t begin, std::int64_t end,
                        int thread);

  static constexpr std::int64_t most_indices = 0xFFFFFFFF;

  explicit pool_members(int threads)
      : members_{
            std::make_unique<member[]>(static_cast<std::size_t>(threads))} {}

  /// Thread t's share of `count` indices is [share(t), share(t + 1)).
  static std::int64_t share(std::int64_t count, int sharers, int t) {
    return count / sharers * t + count % sharers * t / sharers;
  }

  /// The caller, when the job before has ended: makes a job. With `fixed` each
  /// of the first `sharers` threads has to call run_share; else those who want
  /// to call run_indices.
  void publish(std::int64_t count, int sharers, task body, void* context,
               bool fixed) {
    count_ = count;
    body_ = body;
    context_ = context;
    expected_.store(
        expected_.load(std::memory_order_relaxed) + (fixed ? sharers : count),
        std::memory_order_relaxed);
    Schedule::at(pool_step::fields_written, 0);
    for (int t = 0; t < sharers && !fixed; ++t) {
      members_[t].share.store(
          word(share(count, sharers, t), share(count, sharers, t + 1)),
          std::memory_order_release);
      Schedule::at(pool_step::share_published, 0);
    }
  }

  /// Thread `me` runs indices until it finds none unclaimed among the first
  /// `sharers` threads.
  void run_indices(int me, int sharers) {
    for (;;) {
      std::int64_t index = claim_next(members_[me].share, me);
      if (index < 0) index = claim_next(members_[me].loot, me);
      if (index < 0) index = take_from_others(me, sharers);
      if (index < 0) return;
      Schedule::at(pool_step::claimed, me);
      run(index, index + 1, me);
    }
  }

  /// Thread `me` runs its share of a fixed job, whether it is empty or not.
  /// The job does not end before, so that its fields can be read at once.
  void run_share(int me, int sharers) {
    run(share(count_, sharers, me), share(count_, sharers, me + 1), me);
  }

  /// Whether all of the current job has run. Sequentially consistent, as is
  /// confirm(): see there.
  bool finished(int threads) const {
    const auto expected = expected_.load(std::memory_order_relaxed);
    std::int64_t sum = 0;
    for (int t = 0; t < threads; ++t) sum += members_[t].done.load();
    return sum == expected;
  }

  /// Says once more, sequentially consistent, what `me` has run: whoever says
  /// that it sleeps before it looks at finished() and whoever confirms before
  /// it looks for sleepers cannot miss each other.
  void confirm(int me) {
    auto& done = members_[me].done;
    done.store(done.load(std::memory_order_relaxed));
  }

  /// The caller, when the job has ended: throws what a body threw.
  void rethrow() {
    if (!failed_.load(std::memory_order_relaxed)) return;
    failed_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock{mutex_};
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  using range_word = std::atomic<std::uint64_t>;

  // Two lines: neighbours are fetched in pairs.
  struct alignas(128) member {
    range_word share{0};
    range_word loot{0};
    /// Indices run (shares, in a fixed job) since the pool was made; only this
    /// thread writes it.
    std::atomic<std::int64_t> done{0};
  };

  static std::uint64_t word(std::int64_t next, std::int64_t end) {
    return static_cast<std::uint64_t>(end) << 32U |
           static_cast<std::uint64_t>(next);
  }
  static std::int64_t next_of(std::uint64_t w) {
    return static_cast<std::int64_t>(w & 0xFFFFFFFFU);
  }
  static std::int64_t end_of(std::uint64_t w) {
    return static_cast<std::int64_t>(w >> 32U);
  }

  static bool exchange(range_word& of, std::uint64_t& seen,
                       std::uint64_t with) {
    return of.compare_exchange_weak(seen, with, std::memory_order_acq_rel,
                                    std::memory_order_acquire);
  }

  /// The first index of the thread's own word; -1 when it is empty.
  static std::int64_t claim_next(range_word& own, int me) {
    std::uint64_t seen = own.load(std::memory_order_acquire);
    while (next_of(seen) < end_of(seen)) {
      Schedule::at(pool_step::share_loaded, me);
      if (exchange(own, seen, word(next_of(seen) + 1, end_of(seen)))) {
        return next_of(seen);
      }
    }
    return -1;
  }

  /// Claims the upper half of somebody's word: the first of these indices is
  /// the result, the others become loot that others may take on.
  std::int64_t take_from_others(int me, int sharers) {
    for (int k = 1; k < sharers; ++k) {
      const int other = (me + k) % sharers;
      for (auto* from : {&members_[other].share, &members_[other].loot}) {
        std::uint64_t seen = from->load(std::memory_order_acquire);
        while (next_of(seen) < end_of(seen)) {
          const std::int64_t end = end_of(seen);
          const std::int64_t kept = (end - next_of(seen)) / 2;
          const std::int64_t begin = next_of(seen) + kept;
          Schedule::at(pool_step::share_loaded, me);
          if (!exchange(*from, seen, word(next_of(seen), begin))) continue;
          Schedule::at(pool_step::loot_claimed, me);
          if (begin + 1 < end) {
            members_[me].loot.store(word(begin + 1, end),
                                    std::memory_order_release);
          }
          return begin;
        }
      }
    }
    return -1;
  }

  void run(std::int64_t begin, std::int64_t end, int me) {
    try {
      if (begin < end) body_(context_, begin, end, me);
    } catch (...) {
      const std::lock_guard lock{mutex_};
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
    Schedule::at(pool_step::ran, me);
    auto& done = members_[me].done;
    done.store(done.load(std::memory_order_relaxed) + 1,
               std::memory_order_release);
  }

  // The job. Written by the caller while nothing of a job is left to claim or
  // to run, read by who holds a claim.
  alignas(128) std::int64_t count_ = 0;
  task body_ = nullptr;
  void* context_ = nullptr;
  /// What the sum of the members' `done` will be when the job has ended.
  std::atomic<std::int64_t> expected_{0};

  alignas(128) std::unique_ptr<member[]> members_;

  std::mutex mutex_;
  std::exception_ptr error_;  // guarded by mutex_
  std::atomic<bool> failed_{false};
};

}  // namespace vouch::kernels
