// The actors over the life of a server: hangs, new policies, drains, deaths.

#include <gtest/gtest.h>

#include "tests/actors/world.hpp"

namespace vouch::actors {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::one_at_a_time;
using test::text_request;
using test::world;

TEST(Deterministic, AStepThatNeverEndsMakesHealthFail) {
  world all;
  all.submit(text_request("a", "hello", 2));
  all.run();
  all.advance(seconds{59});
  EXPECT_TRUE(all.notices->healthy());
  all.advance(seconds{2});
  EXPECT_FALSE(all.notices->healthy());
  all.finish_step();
  all.advance(milliseconds{200});
  EXPECT_TRUE(all.notices->healthy());
  all.run_to_end();
  EXPECT_EQ(all.see("a").terminals, 1);
}

TEST(Deterministic, APolicyIsReplacedBetweenSteps) {
  world all{one_at_a_time()};
  all.submit(text_request("a", "hello", 10));
  all.submit(text_request("b", "hello", 10));
  all.run();
  all.finish_step();
  EXPECT_EQ(all.device()->oldest().items.size(), 1U);
  caf::anon_send(all.supervisor, policy_change{{}});
  all.run();
  all.finish_step();
  EXPECT_EQ(all.device()->oldest().items.size(), 2U);
  EXPECT_NE(all.counters->text().find("vouch_config_generation 1"),
            std::string::npos);
  all.run_to_end();
}

TEST(Deterministic, DrainWaitsRefusesAndThenCancels) {
  for (const bool in_time : {true, false}) {
    world all;
    all.submit(text_request("a", "hello", 3));
    all.run();
    caf::scoped_actor self{all.system, true};
    const auto asked = self->request(all.supervisor, caf::infinite,
                                     drain_atom_v, std::int64_t{5000});
    all.run();
    EXPECT_EQ(all.notices->state(), life::draining);
    all.submit(text_request("late", "hello", 3));
    all.run();
    EXPECT_EQ(all.see("late").error.kind, failure::unavailable);
    if (in_time) {
      all.run_to_end();
      EXPECT_FALSE(all.see("a").failed);
    } else {
      all.advance(milliseconds{5100});
      EXPECT_EQ(all.see("a").error.kind, failure::cancelled);
    }
    EXPECT_EQ(all.see("a").terminals, 1);
    bool answered = false;
    const_cast<std::decay_t<decltype(asked)>&>(asked).receive(
        [&](bool by_themselves) {
          answered = true;
          EXPECT_EQ(by_themselves, in_time);
        },
        [](const caf::error&) { FAIL(); });
    EXPECT_TRUE(answered);
  }
}

TEST(Deterministic, ADeadEngineIsReplaced) {
  world all;
  all.submit(text_request("a", "hello", 10));
  all.run();
  all.device()->break_next();
  all.finish_step();  // the step after it meets the fault
  const auto seen = all.see("a");
  EXPECT_EQ(seen.terminals, 1);
  EXPECT_EQ(seen.error.kind, failure::internal);
  EXPECT_EQ(all.notices->state(), life::loading);
  all.submit(text_request("early", "hello", 3));
  all.run();
  EXPECT_EQ(all.see("early").error.kind, failure::unavailable);
  all.advance(milliseconds{200});
  EXPECT_EQ(all.notices->state(), life::ready);
  EXPECT_EQ(all.devices_made, 2);
  all.submit(text_request("b", "hello", 3));
  all.run_to_end();
  EXPECT_EQ(all.see("b").end.completion_tokens, 3);
}

TEST(Deterministic, AnEngineThatKeepsDyingIsGivenUp) {
  world all;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(all.notices->state(), life::ready) << i;
    all.device()->break_next();
    all.submit(text_request(std::string{"r"} + std::to_string(i), "hello", 3));
    all.run();
    all.advance(seconds{10});
  }
  EXPECT_EQ(all.notices->state(), life::failed);
  EXPECT_FALSE(all.notices->healthy());
  all.submit(text_request("last", "hello", 3));
  all.run();
  EXPECT_EQ(all.see("last").error.kind, failure::unavailable);
}

TEST(Deterministic, AnExecutorThatCannotBeMadeAgainIsTriedLater) {
  for (const int broken : {3, 100}) {
    world all;
    all.submit(text_request("a", "hello", 10));
    all.run();
    all.devices_broken = broken;
    all.device()->break_next();
    all.finish_step();
    all.advance(milliseconds{150});
    EXPECT_EQ(all.notices->state(), life::loading);
    // Long enough that a fault of the first device would be forgotten.
    all.advance(seconds{100});
    if (broken == 3) {
      EXPECT_EQ(all.notices->state(), life::ready);
      EXPECT_EQ(all.devices_made, 2);
      all.submit(text_request("b", "hello", 3));
      all.run_to_end();
      EXPECT_EQ(all.see("b").end.completion_tokens, 3);
    } else {
      EXPECT_EQ(all.notices->state(), life::failed);
      EXPECT_EQ(all.devices_broken, 100 - 5);
      EXPECT_THROW(all.notices->wait_until_ready(), std::runtime_error);
    }
  }
}

TEST(Deterministic, AFailedLoadAnswersUnavailable) {
  world all{[]() -> components {
    throw engine::input_error("model.gguf", "is no model");
  }};
  EXPECT_EQ(all.notices->state(), life::failed);
  EXPECT_THROW(all.notices->wait_until_ready(), engine::input_error);
  all.submit(text_request("a", "hello", 3));
  all.run();
  EXPECT_EQ(all.see("a").terminals, 1);
  EXPECT_EQ(all.see("a").error.kind, failure::unavailable);
}

}  // namespace
}  // namespace vouch::actors
