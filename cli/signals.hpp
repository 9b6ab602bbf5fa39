#pragma once

#include <chrono>

namespace vouch::cli {

/// Takes SIGTERM, SIGINT and SIGHUP for one waiting thread. Made before other
/// threads start, which then leave these signals alone.
class signal_waiter {
 public:
  signal_waiter();
  ~signal_waiter();
  signal_waiter(const signal_waiter&) = delete;
  signal_waiter& operator=(const signal_waiter&) = delete;

  /// The next signal, or 0 when none came in time.
  int wait(std::chrono::milliseconds timeout);

  /// Ends wait_for_wake from another thread.
  void wake();
  /// Waits for wake() (0) or for SIGTERM or SIGINT (its number).
  int wait_for_wake();
};

}  // namespace vouch::cli
