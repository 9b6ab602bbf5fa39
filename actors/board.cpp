#include "actors/board.hpp"

#include <stdexcept>
#include <utility>

namespace vouch::actors {

life board::state() const {
  const std::lock_guard lock{mutex_};
  return state_;
}

void board::set_state(life now) {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == life::stopped) {
      return;
    }
    state_ = now;
  }
  changed_.notify_all();
}

void board::set_ready(std::shared_ptr<const serving> model) {
  {
    const std::lock_guard lock{mutex_};
    model_ = std::move(model);
    if (state_ == life::stopped || state_ == life::draining) {
      return;
    }
    state_ = life::ready;
  }
  changed_.notify_all();
}

void board::set_failed(std::exception_ptr error) {
  {
    const std::lock_guard lock{mutex_};
    if (state_ == life::stopped) {
      return;
    }
    error_ = std::move(error);
    state_ = life::failed;
  }
  changed_.notify_all();
}

void board::wait_until_ready() const {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return state_ != life::loading; });
  if (state_ == life::failed && error_) {
    std::rethrow_exception(error_);
  }
  if (state_ == life::failed || state_ == life::stopped) {
    throw std::runtime_error("the runtime has stopped");
  }
  if (!model_) {
    throw std::runtime_error(
        "the runtime was shut down before its model was loaded");
  }
}

speculation_view board::speculation() const {
  const std::lock_guard lock{mutex_};
  return speculation_;
}

void board::change_speculation(
    const std::function<void(speculation_view&)>& how) {
  const std::lock_guard in_order{watch_mutex_};
  speculation_view before;
  speculation_view now;
  {
    const std::lock_guard lock{mutex_};
    before = speculation_;
    how(speculation_);
    now = speculation_;
  }
  if (watch_) {
    watch_(before, now);
  }
}

void board::set_speculation(engine::speculation_status now) {
  change_speculation([&](speculation_view& view) {
    view.status =
        std::make_shared<const engine::speculation_status>(std::move(now));
  });
}

void board::set_gate(engine::gate_snapshot now) {
  change_speculation([&](speculation_view& view) {
    view.gate = std::make_shared<const engine::gate_snapshot>(std::move(now));
  });
}

std::shared_ptr<const serving> board::model() const {
  const std::lock_guard lock{mutex_};
  return model_;
}

}  // namespace vouch::actors
