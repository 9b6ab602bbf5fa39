#pragma once

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/supervisor.hpp"
#include "tests/support/client.hpp"
#include "tests/support/fake_model.hpp"

namespace vouch::test {

inline engine::policy one_at_a_time() {
  engine::policy rules;
  rules.limits.max_running = 1;
  return rules;
}

/// A fake executor whose steps end when the test says so.
class held_executor final : public engine::executor {
 public:
  explicit held_executor(fake_executor_options options) {
    options.inline_steps = true;
    inner_ = make_fake_executor(std::move(options));
  }

  /// Ends the oldest step; false when there is none.
  bool finish_step() {
    if (held_.empty()) {
      return false;
    }
    auto [work, done] = std::move(held_.front());
    held_.pop_front();
    inner_->submit(std::move(work), std::move(done));
    return true;
  }
  std::size_t steps_held() const { return held_.size(); }
  const engine::step& oldest() const { return held_.front().first; }
  /// The next submit throws, which ends ENGINE.
  void break_next() { broken_ = true; }

  const engine::executor_limits& limits() const override {
    return inner_->limits();
  }
  std::string description() const override { return inner_->description(); }
  void open(engine::slot_start start) override {
    inner_->open(std::move(start));
  }
  void set_history(engine::slot_id slot,
                   std::vector<engine::token_id> tokens) override {
    inner_->set_history(slot, std::move(tokens));
  }
  void release(engine::slot_id slot) override { inner_->release(slot); }
  void submit(engine::step work, completion done) override {
    if (broken_) {
      throw std::runtime_error("device lost");
    }
    held_.emplace_back(std::move(work), std::move(done));
  }
  std::vector<std::byte> read_kv(const std::vector<engine::block_id>& blocks,
                                 std::int32_t position) override {
    return inner_->read_kv(blocks, position);
  }
  void observe_logits(logits_observer) override {}
  void hash_kv(engine::kv_range range,
               std::function<void(engine::kv_hashes)> done) override {
    inner_->hash_kv(std::move(range), std::move(done));
  }
  void observe_ops(op_observer) override {}
  void set_faults(std::shared_ptr<const engine::fault_plan>) override {}

 private:
  std::shared_ptr<engine::executor> inner_;
  std::deque<std::pair<engine::step, completion>> held_;
  bool broken_ = false;
};

/// All actors in one thread, with a clock that the test moves.
class world {
 public:
  struct config : caf::actor_system_config {
    config() {
      add_message_types<caf::id_block::vouch>();
      set("scheduler.policy", caf::atom("testing"));
    }
  };

  /// `adjust` changes what is loaded.
  using adjust_function = std::function<void(actors::components&)>;
  explicit world(engine::policy rules = {}, fake_executor_options options = {},
                 const adjust_function& adjust = {}) {
    setup_.rules = rules;
    setup_.load = [this, options, adjust] {
      auto parts = make_fake_components(options).parts;
      if (adjust) {
        adjust(parts);
      }
      parts.make_executor = [this, options] {
        // A restart: the executor before has gone, and its steps with it.
        EXPECT_TRUE(device_.expired());
        if (devices_broken > 0) {
          --devices_broken;
          throw std::runtime_error("no device");
        }
        auto made = std::make_shared<held_executor>(options);
        device_ = made;
        ++devices_made;
        return made;
      };
      return parts;
    };
    start();
  }
  explicit world(actors::load_function load) {
    setup_.load = std::move(load);
    start();
  }
  ~world() {
    caf::anon_send(supervisor, actors::stop_atom_v);
    run();
    supervisor = nullptr;
    clients_.clear();
  }

  /// Handles messages until none is left.
  void run() { clock().run(); }
  /// The same, ending steps as they come.
  void run_to_end() {
    run();
    while (finish_step()) {
    }
  }
  bool finish_step() {
    const auto device = device_.lock();
    const bool any = device && device->finish_step();
    run();
    return any;
  }
  std::shared_ptr<held_executor> device() { return device_.lock(); }
  void advance(std::chrono::milliseconds time) {
    // In small steps: a tick may only arm the next one.
    for (auto passed = std::chrono::milliseconds{0}; passed < time;
         passed += std::chrono::milliseconds{50}) {
      clock().advance_time(std::chrono::milliseconds{50});
      run();
    }
  }

  actors::client_actor client() {
    clients_.push_back(spawn_client(system, events));
    return clients_.back();
  }
  void submit(actors::generation_request request) {
    submit(std::move(request), client());
  }
  void submit(actors::generation_request request,
              const actors::client_actor& from) {
    caf::anon_send(supervisor, actors::incoming{std::move(request), from});
  }
  void cancel(const std::string& id) {
    caf::anon_send(supervisor, actors::cancel_atom_v, id);
  }
  outcome see(const std::string& id) const {
    const auto all = events->all();
    const auto found = all.find(id);
    return found == all.end() ? outcome{} : found->second;
  }

 private:
  caf::scheduler::test_coordinator& clock() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }
  void start() {
    setup_.detach = false;
    setup_.notices = notices;
    setup_.counters = counters;
    supervisor = system.spawn(actors::supervisor_behavior, setup_);
    run();
  }

  config config_;
  actors::supervisor_setup setup_;
  std::weak_ptr<held_executor> device_;

 public:
  int devices_made = 0;
  /// So many executors cannot be made.
  int devices_broken = 0;
  std::shared_ptr<transcript> events = std::make_shared<transcript>();
  std::shared_ptr<actors::board> notices = std::make_shared<actors::board>();
  std::shared_ptr<actors::metrics> counters =
      std::make_shared<actors::metrics>();
  caf::actor_system system{config_};
  actors::supervisor_actor supervisor;

 private:
  std::vector<actors::client_actor> clients_;
};

}  // namespace vouch::test
