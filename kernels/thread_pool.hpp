#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace vouch::kernels {

/// The compute threads of one executor. Work is always split by output, never
/// along a reduction, so how many threads there are cannot change a byte.
class thread_pool {
 public:
  /// Starts `threads` - 1 workers (the caller is the other one); at least 1.
  explicit thread_pool(int threads);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  int size() const;

  /// Runs body(i) once for every i in [0, count), each index claimed from a
  /// shared counter, and returns when all have run. One caller at a time; the
  /// body must not call parallel_for. An exception thrown by a body is
  /// rethrown here after the others have finished.
  template <class Body>
  void parallel_for(std::int64_t count, Body&& body) {
    using body_type = std::remove_reference_t<Body>;
    run(
        count,
        [](void* context, std::int64_t index) {
          (*static_cast<body_type*>(context))(index);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using task = void (*)(void* context, std::int64_t index);
  void run(std::int64_t count, task body, void* context);

  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace vouch::kernels
