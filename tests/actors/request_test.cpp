#include "actors/request.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/client.hpp"
#include "tests/support/fake_model.hpp"

namespace vouch::actors {
namespace {

using test::text_request;

/// Says yes to everything and does nothing.
/// Admits everything with `answer`. (An argument, because CAF 0.17 binds a null
/// reference when it spawns without one.)
scheduler_actor::behavior_type yes_behavior(scheduler_actor::pointer,
                                            admission answer) {
  return {
      [](reserve_atom) { return admission{}; },
      [answer](submission&) { return answer; },
      [](abort_atom, engine::sequence_id) {},
      [](engine::step_result&) {},
      [](new_drafter&) {},
      [](drafts&) {},
      [](new_gate&) {},
      [](engine::gate_view&) {},
      [](pause_atom) {},
      [](gate_trip&) {},
      [](loan_request&) {},
      [](engine::loan&) {},
      [](audits_done&) {},
      [](gate_order&) {},
      [](owed_atom) {},
      [](step_cost&) {},
      [](policy_change&) {},
      [](tick_atom) {},
  };
}

engine::sequence_update update_of(engine::sequence_id id,
                                  const std::string& text) {
  engine::sequence_update update;
  update.id = id;
  for (const char byte : text) {
    engine::picked_token picked;
    picked.token = static_cast<unsigned char>(byte);
    update.tokens.push_back(picked);
  }
  return update;
}

/// A request of two choices whose first has met its stop string, while
/// SCHEDULER does not know it yet.
class request_test : public testing::Test {
 protected:
  void SetUp() override {
    auto parts = test::make_fake_components().parts;
    const auto limits = parts.make_executor()->limits();
    const auto model = make_serving(std::move(parts), limits);
    auto request = text_request("a", "hello", 20);
    request.n = 2;
    request.stop = {"ll"};
    client_ = test::spawn_client(system_, events_);
    scheduler_ =
        system_.spawn(yes_behavior, admission{engine::rejection::none, 1});
    request_ = system_.spawn(request_behavior,
                             request_setup{request, client_, scheduler_, model,
                                           std::make_shared<metrics>()});
    while (events_->all()["a"].starts == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    auto first = update_of(1, "all");
    first.speculation = reported(3, 2);
    send({std::move(first), update_of(2, "b")});
  }
  /// One round of `drafts` drafts.
  static engine::speculation_report reported(int drafts, int emitted) {
    engine::speculation_report report;
    report.verdict = "equal";
    report.count_round(drafts + 1, emitted);
    return report;
  }
  void TearDown() override {
    for (const auto& actor : {caf::actor_cast<caf::actor>(client_),
                              caf::actor_cast<caf::actor>(scheduler_),
                              caf::actor_cast<caf::actor>(request_)}) {
      if (actor) caf::anon_send_exit(actor, caf::exit_reason::kill);
    }
  }
  void send(std::vector<engine::sequence_update> updates,
            bool expired = false) {
    caf::anon_send(request_, progress{std::move(updates), expired});
  }
  static engine::sequence_update ended(engine::sequence_id id,
                                       engine::finish_reason reason) {
    auto update = update_of(id, "");
    update.finished = true;
    update.reason = reason;
    update.error = "row 3 had a NaN";
    return update;
  }
  /// Ends the second choice and returns what the client saw.
  test::outcome end() {
    send({ended(2, engine::finish_reason::length)});
    return events_->wait("a");
  }

  /// Lets the request go and waits until nobody else holds on to its memory;
  /// how many do that all the same.
  std::size_t holders_left() {
    const auto last = caf::actor_cast<caf::weak_actor_ptr>(request_);
    request_ = nullptr;
    const auto others = [&] { return last->weak_refs.load() - 1; };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    while (others() > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return others();
  }

  struct config : caf::actor_system_config {
    config() { runtime::configure(*this); }
  };
  config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<test::transcript> events_ =
      std::make_shared<test::transcript>();
  client_actor client_;
  scheduler_actor scheduler_;
  request_actor request_;
};

TEST_F(request_test, AChoiceThatEndedByItsTextCannotFailAfterIt) {
  send({ended(1, engine::finish_reason::failed)});
  const auto seen = end();
  EXPECT_FALSE(seen.failed) << seen.error.message;
  EXPECT_EQ(seen.text(0), "a");
  EXPECT_EQ(seen.choices.at(0).finish_reason, "stop");
  EXPECT_EQ(seen.choices.at(1).finish_reason, "length");
}

TEST_F(request_test, NorTimeOutOrBeAborted) {
  send({ended(1, engine::finish_reason::failed)}, true);
  send({ended(1, engine::finish_reason::aborted)});
  EXPECT_FALSE(end().failed);
}

TEST_F(request_test, AChoiceThatRunsFailsTheRequest) {
  send({ended(2, engine::finish_reason::failed)});
  const auto seen = events_->wait("a");
  EXPECT_EQ(seen.error.kind, failure::internal);
  EXPECT_EQ(seen.error.message, "row 3 had a NaN");
}

// Also of the choice that ended by its text: what was said last holds.
TEST_F(request_test, TheClientIsToldWhatSpeculationDid) {
  auto last = ended(2, engine::finish_reason::stop);
  last.speculation = reported(7, 4);
  send({std::move(last)});
  const auto seen = events_->wait("a");
  ASSERT_FALSE(seen.failed) << seen.error.message;
  const auto& first = seen.choices.at(0).speculation;
  const auto& second = seen.choices.at(1).speculation;
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->drafted, 3);
  EXPECT_EQ(second->verdict, "equal");
  EXPECT_EQ(second->width, 8);
  EXPECT_EQ(second->rejected(), 3);
  EXPECT_EQ(seen.end.accepted_drafts, 6);
  EXPECT_EQ(seen.end.rejected_drafts, 4);
}

TEST_F(request_test, NothingHoldsARequestThatHasFinished) {
  EXPECT_FALSE(end().failed);
  EXPECT_EQ(holders_left(), 0U);
}

TEST_F(request_test, NothingHoldsARequestThatHasFailed) {
  send({ended(2, engine::finish_reason::failed)});
  EXPECT_TRUE(events_->wait("a").failed);
  EXPECT_EQ(holders_left(), 0U);
}

TEST_F(request_test, NothingHoldsARequestThatWasCancelled) {
  caf::anon_send(request_, cancel_atom_v);
  EXPECT_TRUE(events_->wait("a").failed);
  EXPECT_EQ(holders_left(), 0U);
}

}  // namespace
}  // namespace vouch::actors
