#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace vouch::kernels {

/// The compute threads of one executor. Work is always split by output, never
/// along a reduction, so how many threads there are cannot change a byte.
///
/// Calls come from one thread at a time, which is thread 0 of the pool while
/// they last; a body must not call the pool. A body's exception is rethrown
/// here (the first one, if there are several) after all indices have run.
class thread_pool {
 public:
  /// Starts `threads` - 1 workers (the caller is the other one); at least 1.
  /// With `cpus`, thread t runs on cpus[t] only (there have to be as many); the
  /// caller's thread is the caller's to pin (pin_this_thread). Throws
  /// std::system_error when a thread cannot be made or pinned.
  explicit thread_pool(int threads, const std::vector<int>& cpus = {});
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  int size() const;

  /// Runs body(index), or body(index, thread) with thread in [0, size()), once
  /// for every index in [0, count) and returns when all have run. Thread t
  /// begins with the t-th contiguous share of the indices, and who has finished
  /// takes from those who have not: equal counts run on the same threads only
  /// mostly. Meant for indices of a microsecond and more.
  template <class Body>
  void parallel_for(std::int64_t count, Body&& body) {
    using body_type = std::remove_reference_t<Body>;
    run(
        count,
        [](void* context, std::int64_t begin, std::int64_t end, int thread) {
          auto& call = *static_cast<body_type*>(context);
          for (std::int64_t i = begin; i < end; ++i) {
            if constexpr (std::is_invocable_v<body_type&, std::int64_t, int>) {
              call(i, thread);
            } else {
              call(i);
            }
          }
        },
        const_cast<void*>(static_cast<const void*>(&body)), false);
  }

  /// Runs body(begin, end, thread) once on every thread that has a share: the
  /// share parallel_for begins with, chosen by count and size() alone, and
  /// nobody takes from anybody. For first touch and for per-thread state; a
  /// thread that is kept from running makes all wait.
  template <class Body>
  void parallel_ranges(std::int64_t count, Body&& body) {
    using body_type = std::remove_reference_t<Body>;
    run(
        count,
        [](void* context, std::int64_t begin, std::int64_t end, int thread) {
          (*static_cast<body_type*>(context))(begin, end, thread);
        },
        const_cast<void*>(static_cast<const void*>(&body)), true);
  }

 private:
  using task = void (*)(void* context, std::int64_t begin, std::int64_t end,
                        int thread);
  void run(std::int64_t count, task body, void* context, bool fixed);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace vouch::kernels
