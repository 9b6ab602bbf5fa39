#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "actors/components.hpp"
#include "engine/gate/snapshot.hpp"
#include "engine/speculation/status.hpp"

namespace vouch::actors {

/// Where a runtime is in its life.
enum class life : std::uint8_t { loading, ready, draining, stopped, failed };

/// How speculation and its gate stand, each as whoever runs it said last.
struct speculation_view {
  /// SCHEDULER's; null until it has started.
  std::shared_ptr<const engine::speculation_status> status;
  /// GATE's; null until it has started.
  std::shared_ptr<const engine::gate_snapshot> gate;
};

/// What SUPERVISOR and SCHEDULER let the outside read without a message. Safe
/// from any thread.
class board {
 public:
  life state() const;
  /// Also wakes whoever waits. `stopped` is final.
  void set_state(life now);
  /// Ready, to serve with `model`. Does nothing once draining or stopped.
  void set_ready(std::shared_ptr<const serving> model);
  /// The load, or every restart, failed.
  void set_failed(std::exception_ptr error);
  /// Waits until the state is not loading; rethrows what it failed with. When
  /// it returns there is a model: throws std::runtime_error when the runtime
  /// was stopped, or drained before the load had ended.
  void wait_until_ready() const;

  /// Null until the model is loaded.
  std::shared_ptr<const serving> model() const;

  void set_load_share(double share) { load_share_ = share; }
  double load_share() const { return load_share_; }

  /// No step runs far longer than it should.
  void set_on_time(bool value) { on_time_ = value; }
  bool healthy() const { return on_time_ && state() != life::failed; }

  speculation_view speculation() const;
  void set_speculation(engine::speculation_status now);
  void set_gate(engine::gate_snapshot now);
  /// Told of every change, in the thread that makes it and one at a time. Set
  /// before anybody else knows the board.
  using speculation_watch = std::function<void(const speculation_view& before,
                                               const speculation_view& now)>;
  void watch_speculation(speculation_watch watch) { watch_ = std::move(watch); }

  /// Asks a load in progress to give up.
  void ask_to_stop() { stop_asked_ = true; }
  bool stop_asked() const { return stop_asked_; }

 private:
  std::atomic<double> load_share_{0.0};
  std::atomic<bool> on_time_{true};
  std::atomic<bool> stop_asked_{false};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  life state_ = life::loading;
  std::exception_ptr error_;
  std::shared_ptr<const serving> model_;

  void change_speculation(const std::function<void(speculation_view&)>& how);
  speculation_watch watch_;
  /// Held while the watch is told, so that it sees changes in their order.
  std::mutex watch_mutex_;
  // Guarded by mutex_.
  speculation_view speculation_;
};

}  // namespace vouch::actors
