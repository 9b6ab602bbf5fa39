#include "kernels/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace vouch::kernels {

namespace {

/// How long a thread spins before it sleeps: longer than the gaps between the
/// ops of a step, far shorter than anything a person or a scheduler notices.
constexpr auto spin_time = std::chrono::microseconds{50};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `ready` or the time is up; true when ready.
template <class Ready>
bool spin(Ready&& ready) {
  const auto until = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
  return ready();
}

/// Keeps the floating-point modes (rounding, flushing of subnormals) at their
/// defaults while it lives: every compute thread has to round alike.
class default_float_modes {
 public:
#if defined(__x86_64__)
  default_float_modes() : saved_{__builtin_ia32_stmxcsr()} {
    if ((saved_ & control_bits) != defaults) {
      __builtin_ia32_ldmxcsr((saved_ & ~control_bits) | defaults);
    }
  }
  ~default_float_modes() {
    if ((saved_ & control_bits) != defaults) __builtin_ia32_ldmxcsr(saved_);
  }

 private:
  static constexpr unsigned control_bits = 0xFFC0;
  static constexpr unsigned defaults = 0x1F80;
  unsigned saved_;
#else
  default_float_modes() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~default_float_modes() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  default_float_modes(const default_float_modes&) = delete;
  default_float_modes& operator=(const default_float_modes&) = delete;
};

constexpr std::uint64_t index_mask = 0xFFFFFFFFU;

}  // namespace

/// A job is published by storing a new ticket: its number in the upper half,
/// the next unclaimed index in the lower. An index is claimed by incrementing
/// the ticket in a compare-exchange, which fails once the job is another one,
/// so that a thread that comes late to a job harms nobody, and the caller
/// waits for indices, never for threads. Before the caller writes a job's
/// fields it closes the old ticket (no index is left), else a late thread could
/// take an index past the old job's end for one of the new job's. The fields
/// are read between loading the ticket and the exchange, and who sees a new
/// field sees the ticket closed: when the exchange succeeds they were the
/// job's.
struct thread_pool::state {
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  alignas(64) std::atomic<std::int64_t> done{0};
  alignas(64) std::atomic<std::int64_t> count{0};
  std::atomic<task> body{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<bool> failed{false};
  std::atomic<int> sleepers{0};
  std::atomic<bool> caller_sleeps{false};
  std::atomic<bool> stop{false};

  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable finished;
  std::exception_ptr error;  // guarded by mutex
  std::vector<std::thread> workers;

  /// Runs indices of the current job until none is left.
  void run_indices() {
    std::uint64_t seen = ticket.load(std::memory_order_acquire);
    for (;;) {
      const auto total = count.load(std::memory_order_acquire);
      const auto run = body.load(std::memory_order_acquire);
      auto* const argument = context.load(std::memory_order_acquire);
      const auto index = static_cast<std::int64_t>(seen & index_mask);
      if (index >= total) return;
      if (!ticket.compare_exchange_weak(seen, seen + 1,
                                        std::memory_order_acq_rel,
                                        std::memory_order_acquire)) {
        continue;
      }
      try {
        run(argument, index);
      } catch (...) {
        const std::lock_guard lock{mutex};
        if (!error) error = std::current_exception();
        failed.store(true, std::memory_order_relaxed);
      }
      if (done.fetch_add(1) + 1 == total && caller_sleeps.load()) {
        { const std::lock_guard lock{mutex}; }
        finished.notify_one();
      }
      seen = ticket.load(std::memory_order_acquire);
    }
  }

  void join() {
    {
      const std::lock_guard lock{mutex};
      stop.store(true);
    }
    work.notify_all();
    for (auto& worker : workers) worker.join();
  }

  std::uint64_t job() const { return ticket.load() & ~index_mask; }

  void work_until_stopped() {
    const default_float_modes modes;
    std::uint64_t last = 0;
    for (;;) {
      const auto changed = [&] { return job() != last || stop.load(); };
      if (!spin(changed)) {
        std::unique_lock lock{mutex};
        sleepers.fetch_add(1);
        work.wait(lock, changed);
        sleepers.fetch_sub(1);
      }
      if (stop.load()) return;
      last = job();
      run_indices();
    }
  }
};

thread_pool::thread_pool(int threads) : state_{std::make_unique<state>()} {
  try {
    for (int i = 1; i < std::max(threads, 1); ++i) {
      state_->workers.emplace_back(
          [s = state_.get()] { s->work_until_stopped(); });
    }
  } catch (...) {
    // No more threads to be had: those that run must end before they are gone.
    state_->join();
    throw;
  }
}

thread_pool::~thread_pool() { state_->join(); }

int thread_pool::size() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void thread_pool::run(std::int64_t count, task body, void* context) {
  auto& s = *state_;
  const default_float_modes modes;
  if (s.workers.empty() || count <= 1) {
    // As with threads: every index runs, the first exception comes out.
    std::exception_ptr error;
    for (std::int64_t i = 0; i < count; ++i) {
      try {
        body(context, i);
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
  s.ticket.store(s.job() | index_mask);
  s.count.store(count, std::memory_order_release);
  s.body.store(body, std::memory_order_release);
  s.context.store(context, std::memory_order_release);
  s.done.store(0, std::memory_order_relaxed);
  s.ticket.store(s.job() + index_mask + 1);
  if (s.sleepers.load() > 0) {
    { const std::lock_guard lock{s.mutex}; }
    s.work.notify_all();
  }
  s.run_indices();
  const auto all_done = [&] { return s.done.load() == count; };
  if (!spin(all_done)) {
    std::unique_lock lock{s.mutex};
    s.caller_sleeps.store(true);
    s.finished.wait(lock, all_done);
    s.caller_sleeps.store(false);
  }
  if (s.failed.load(std::memory_order_relaxed)) {
    std::exception_ptr error;
    {
      const std::lock_guard lock{s.mutex};
      error = std::exchange(s.error, nullptr);
      s.failed.store(false, std::memory_order_relaxed);
    }
    std::rethrow_exception(error);
  }
}

}  // namespace vouch::kernels
