#include "bench/serving/instant_executor.hpp"

#include <stdexcept>
#include <thread>
#include <utility>

namespace vouch::bench {

namespace {

class instant_executor final : public engine::executor {
 public:
  instant_executor(engine::executor_limits limits,
                   std::chrono::microseconds step_time)
      : limits_{limits}, step_time_{step_time} {}

  const engine::executor_limits& limits() const override { return limits_; }
  std::string description() const override { return "instant, 1 thread"; }
  void open(engine::slot_start) override {}
  void set_history(engine::slot_id, std::vector<engine::token_id>) override {}
  void release(engine::slot_id) override {}

  void submit(engine::step work, completion done) override {
    const auto end = std::chrono::steady_clock::now() + step_time_;
    engine::step_result result;
    result.id = work.id;
    result.items.reserve(work.items.size());
    for (const auto& item : work.items) {
      auto& out = result.items.emplace_back();
      out.slot = item.slot;
      const auto rows = static_cast<std::int32_t>(item.tokens.size());
      for (auto row = item.pick_begin; row < rows; ++row) {
        out.picks.emplace_back().token = 'a' + (item.position + row) % 26;
      }
    }
    if (step_time_.count() > 0) std::this_thread::sleep_until(end);
    result.seconds = std::chrono::duration<double>(step_time_).count();
    done(std::move(result));
  }

  std::vector<std::byte> read_kv(const std::vector<engine::block_id>&,
                                 std::int32_t) override {
    throw std::logic_error{"the instant executor keeps no K and V"};
  }
  void observe_logits(logits_observer) override {}

 private:
  engine::executor_limits limits_;
  std::chrono::microseconds step_time_;
};

}  // namespace

std::shared_ptr<engine::executor> make_instant_executor(
    engine::executor_limits limits, std::chrono::microseconds step_time) {
  return std::make_shared<instant_executor>(limits, step_time);
}

}  // namespace vouch::bench
