#include "cli/signals.hpp"

#include <csignal>
#include <ctime>
#include <unistd.h>

namespace vouch::cli {

namespace {

/// What wake() sends to the process itself.
constexpr int wake_signal = SIGUSR2;

sigset_t handled() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, wake_signal}) {
    sigaddset(&set, number);
  }
  return set;
}

}  // namespace

signal_waiter::signal_waiter() {
  const auto set = handled();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

signal_waiter::~signal_waiter() {
  // What came and was not waited for must not end the process now.
  while (wait(std::chrono::milliseconds(0)) != 0) {
  }
  const auto set = handled();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int signal_waiter::wait(std::chrono::milliseconds timeout) {
  const auto set = handled();
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(timeout.count() / 1000);
  limit.tv_nsec = static_cast<long>(timeout.count() % 1000) * 1'000'000;
  const int signal = sigtimedwait(&set, nullptr, &limit);
  return signal < 0 ? 0 : signal;
}

void signal_waiter::wake() { kill(getpid(), wake_signal); }

int signal_waiter::wait_for_wake() {
  const auto set = handled();
  while (true) {
    const int signal = sigwaitinfo(&set, nullptr);
    if (signal == wake_signal) {
      return 0;
    }
    if (signal == SIGTERM || signal == SIGINT) {
      return signal;
    }
  }
}

}  // namespace vouch::cli
