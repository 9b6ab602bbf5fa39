#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

#include "kernels/cores.hpp"
#include "kernels/float_modes.hpp"
#include "kernels/pool_members.hpp"

namespace vouch::kernels {

/// How long who waits spins before it sleeps. Longer than the gap between two
/// steps of a busy engine, so that only an idle one's threads have to be woken.
inline constexpr std::chrono::microseconds pool_spin{200};
/// After this much of it the spinning thread offers its core to others (an
/// actor, an HTTP thread) at every look.
inline constexpr std::chrono::microseconds pool_spin_alone{10};

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The threads around pool_members: how they learn of a job, when they sleep
/// and who wakes them. Calls come from one thread, member 0.
///
/// Nobody misses a job or its end. Who wants to sleep says so (`parked`), then
/// looks again; who has news publishes it, then looks who sleeps. All four are
/// sequentially consistent, so one of the two sees the other.
template <class Schedule>
class pool_threads {
 public:
  using task = typename pool_members<Schedule>::task;

  /// `cpus`: one for each thread, or empty.
  pool_threads(int threads, const std::vector<int>& cpus)
      : size_{threads},
        spins_{!cpus.empty() || threads <= available_cores()},
        members_{threads},
        sleepers_{
            std::make_unique<sleeper[]>(static_cast<std::size_t>(threads))} {
    try {
      for (int t = 1; t < threads; ++t) {
        const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(t)];
        workers_.emplace_back([this, t] { work(t); });
        if (cpu >= 0) pin_thread(workers_.back(), cpu);
      }
    } catch (...) {
      // Those that run must end before they are gone.
      stop();
      throw;
    }
  }
  ~pool_threads() { stop(); }
  pool_threads(const pool_threads&) = delete;
  pool_threads& operator=(const pool_threads&) = delete;

  static constexpr int most_threads = 0x7FFF;
  int size() const { return size_; }

  void run(std::int64_t count, task body, void* context, bool fixed) {
    const auto sharers = static_cast<int>(count < size_ ? count : size_);
    if (sharers == 0) return;
    members_.publish(count, sharers, body, context, fixed);
    job_.store((job_.load(std::memory_order_relaxed) & job_number) + next_job +
               static_cast<std::uint64_t>(sharers) * 2 + (fixed ? 1 : 0));
    Schedule::at(pool_step::job_published, 0);
    wake_below(0, sharers);
    take_part(0, sharers, fixed);
    wait_until_finished();
    members_.rethrow();
  }

 private:
  /// A job's word: its number in the upper 48 bits, then how many threads have
  /// a share of it, then whether the shares are fixed.
  static constexpr std::uint64_t next_job = std::uint64_t{1} << 16U;
  static constexpr std::uint64_t job_number = ~(next_job - 1);
  static constexpr std::uint64_t no_more_jobs = 1;  // no job has no sharers

  struct alignas(128) sleeper {
    std::atomic<int> parked{0};
  };

  void take_part(int me, int sharers, bool fixed) {
    if (fixed) {
      members_.run_share(me, sharers);
    } else {
      members_.run_indices(me, sharers);
    }
  }

  void work(int me) {
    const default_float_modes modes;
    pthread_setname_np(pthread_self(), "vouch.compute");
    std::uint64_t last = 0;
    for (;;) {
      last = wait_for_job(me, last);
      if (last == no_more_jobs) return;
      Schedule::at(pool_step::job_seen, me);
      const auto sharers = static_cast<int>((last & ~job_number) / 2);
      wake_below(me, sharers);
      // Whoever has no share leaves the few indices to those who have.
      if (me >= sharers) continue;
      take_part(me, sharers, (last & 1U) != 0);
      members_.confirm(me);
      if (sleepers_[0].parked.load() != 0 && members_.finished(size_)) wake(0);
    }
  }

  std::uint64_t wait_for_job(int me, std::uint64_t last) {
    std::uint64_t seen = last;
    const auto published = [&] { return (seen = job_.load()) != last; };
    if (!spin(published)) {
      asleep_.fetch_add(1);
      park_until(me, published);
      asleep_.fetch_sub(1);
    }
    return seen;
  }

  void wait_until_finished() {
    const auto done = [&] { return members_.finished(size_); };
    if (!spin(done)) park_until(0, done);
  }

  template <class Ready>
  bool spin(const Ready& ready) const {
    if (ready()) return true;
    if (!spins_) return false;
    const auto start = std::chrono::steady_clock::now();
    for (auto spent = start - start; spent < pool_spin;
         spent = std::chrono::steady_clock::now() - start) {
      const bool alone = spent < pool_spin_alone;
      for (int i = 0; i < (alone ? 32 : 4); ++i) {
        if (ready()) return true;
        relax();
      }
      if (!alone) sched_yield();
    }
    return false;
  }

  template <class Ready>
  void park_until(int me, const Ready& ready) {
    auto& parked = sleepers_[me].parked;
    for (;;) {
      parked.store(1);
      Schedule::at(pool_step::parking, me);
      if (ready()) break;
      parked.wait(1);
    }
    parked.store(0);
  }

  void wake(int t) {
    auto& parked = sleepers_[t].parked;
    if (parked.load() != 0 && parked.exchange(0) != 0) parked.notify_one();
  }

  /// Each thread wakes two others, so that many are up soon, and none beyond
  /// those that have a share.
  void wake_below(int me, int sharers) {
    if (asleep_.load() == 0) return;
    if (2 * me + 1 < sharers) wake(2 * me + 1);
    if (2 * me + 2 < sharers) wake(2 * me + 2);
  }

  void stop() {
    job_.store(no_more_jobs);
    for (int t = 1; t < size_; ++t) wake(t);
    for (auto& worker : workers_) worker.join();
  }

  const int size_;
  /// Spinning for a core that another compute thread needs helps nobody.
  const bool spins_;
  pool_members<Schedule> members_;
  alignas(128) std::atomic<std::uint64_t> job_{0};
  alignas(128) std::atomic<int> asleep_{0};
  std::unique_ptr<sleeper[]> sleepers_;
  std::vector<std::thread> workers_;
};

}  // namespace vouch::kernels
