#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/drafter.hpp"
#include "actors/scheduler.hpp"
#include "actors/supervisor.hpp"
#include "tests/support/client.hpp"
#include "tests/support/fake_model.hpp"

namespace vouch::test {

inline engine::policy one_at_a_time() {
  engine::policy rules;
  rules.limits.max_running = 1;
  return rules;
}

/// A fake executor whose steps end when the test says so. What is asked of it
/// behind a step happens behind that step.
class held_executor final : public engine::executor {
 public:
  /// Sees a step and may change what came of it.
  using alteration =
      std::function<void(const engine::step&, engine::step_result&)>;
  held_executor(fake_executor_options options, alteration alter)
      : alter_{std::move(alter)} {
    options.inline_steps = true;
    inner_ = make_fake_executor(std::move(options));
  }

  /// Ends the oldest step; false when there is none.
  bool finish_step() {
    if (held_.empty()) {
      return false;
    }
    do {
      auto oldest = std::move(held_.front());
      held_.pop_front();
      oldest.run();
    } while (!held_.empty() && !held_.front().work);
    return true;
  }
  std::size_t steps_held() const {
    std::size_t count = 0;
    for (const auto& each : held_) {
      count += each.work ? 1 : 0;
    }
    return count;
  }
  const engine::step& oldest() const { return *held_.front().work; }
  const engine::step& newest() const {
    auto last = held_.rbegin();
    while (!last->work) ++last;
    return *last->work;
  }
  /// The next submit throws, which ends ENGINE.
  void break_next() { broken_ = true; }

  const engine::executor_limits& limits() const override {
    return inner_->limits();
  }
  std::string description() const override { return inner_->description(); }
  void open(engine::slot_start start) override {
    later([this, start = std::move(start)] { inner_->open(start); });
  }
  void set_history(engine::slot_id slot,
                   std::vector<engine::token_id> tokens) override {
    later([this, slot, tokens = std::move(tokens)] {
      inner_->set_history(slot, tokens);
    });
  }
  void release(engine::slot_id slot) override {
    later([this, slot] { inner_->release(slot); });
  }
  void submit(engine::step work, completion done) override {
    if (broken_) {
      throw std::runtime_error("device lost");
    }
    auto shared = std::make_shared<const engine::step>(std::move(work));
    held_.push_back({shared, [this, shared, done = std::move(done)] {
                       inner_->submit(*shared, [&](engine::step_result result) {
                         if (alter_) alter_(*shared, result);
                         done(std::move(result));
                       });
                     }});
  }
  std::vector<std::byte> read_kv(const std::vector<engine::block_id>& blocks,
                                 std::int32_t position) override {
    return inner_->read_kv(blocks, position);
  }
  void observe_logits(logits_observer) override {}
  void hash_kv(engine::kv_range range,
               std::function<void(engine::kv_hashes)> done) override {
    later([this, range = std::move(range), done = std::move(done)] {
      inner_->hash_kv(range, done);
    });
  }
  void observe_ops(op_observer) override {}
  void set_faults(std::shared_ptr<const engine::fault_plan>) override {}

 private:
  struct entry {
    /// Null: something between steps.
    std::shared_ptr<const engine::step> work;
    std::function<void()> run;
  };
  void later(std::function<void()> job) {
    if (held_.empty()) {
      job();
    } else {
      held_.push_back({nullptr, std::move(job)});
    }
  }

  alteration alter_;
  std::shared_ptr<engine::executor> inner_;
  std::deque<entry> held_;
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
                 const adjust_function& adjust = {}, int steps_in_flight = 1) {
    setup_.rules = rules;
    setup_.steps_in_flight = steps_in_flight;
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
        auto made = std::make_shared<held_executor>(
            options,
            [this](const engine::step& work, engine::step_result& result) {
              if (alter) {
                alter(work, result);
              }
            });
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

  /// Handles one message; false when there is none.
  bool run_once() { return clock().try_run_once(); }
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

  /// What SUPERVISOR and SCHEDULER know; all actors are in this thread.
  const actors::supervisor_state& inside() {
    return state_of<actors::supervisor_state>(supervisor);
  }
  const actors::scheduler_state& scheduling() {
    return state_of<actors::scheduler_state>(inside().scheduler);
  }
  const actors::drafter_state& drafting() {
    return state_of<actors::drafter_state>(inside().drafter);
  }
  template <class Actor>
  void kill(const Actor& whom) {
    caf::anon_send_exit(whom, caf::exit_reason::unhandled_exception);
    run();
  }
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
  template <class State, class Actor>
  static const State& state_of(const Actor& whom) {
    auto* const raw = caf::actor_cast<caf::abstract_actor*>(whom);
    return dynamic_cast<typename Actor::template stateful_pointer<State>>(raw)
        ->state;
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
  /// Sees every step and may change what came of it.
  held_executor::alteration alter;
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
