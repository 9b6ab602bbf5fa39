#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/fixture.hpp"

namespace vouch::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int rounds = 200;  // slower by an order of magnitude
#else
constexpr int rounds = 1000;
#endif

/// Work in every state when the runtime goes: prompts on their way, waiting,
/// running, being cancelled. No hang, no lost or doubled terminal event.
TEST(Shutdown, AThousandTimesWithWorkInFlight) {
  for (int round = 0; round < rounds; ++round) {
    const auto events = std::make_shared<transcript>();
    host home;
    std::size_t sent = 0;
    {
      fake_executor_options options;
      options.delay = std::chrono::microseconds{50};
      options.limits.blocks = 64;
      runtime::config settings;
      settings.policy.limits.max_running = 4;
      settings.engine.steps_in_flight = 1 + round % 2;
      runtime::runtime all{home.system, settings,
                           make_fake_components(options)};
      if (round % 10 != 0) {
        all.wait_until_ready();
      }
      for (; sent < 8; ++sent) {
        auto request = text_request(std::to_string(sent), "some prompt", 500);
        request.n = 1 + static_cast<int>(sent % 3);
        all.submit(std::move(request), spawn_client(home.system, events));
      }
      if (round % 3 == 0) {
        events->wait_for_tokens("0", 2);
      }
      if (round % 4 == 0) {
        all.cancel("1");
      }
      if (round % 5 == 0) {
        all.drain(std::chrono::milliseconds{1});
      }
    }
    // The clients are other actors: what was sent to them arrives.
    ASSERT_TRUE(events->wait_for_ends(sent)) << round;
    for (const auto& [id, seen] : events->all()) {
      ASSERT_EQ(seen.terminals, 1) << round << " " << id;
      ASSERT_EQ(seen.misplaced, 0) << round << " " << id;
    }
  }
}

TEST(Shutdown, ManyRuntimesInOneSystem) {
  host home;
  const auto events = std::make_shared<transcript>();
  for (int round = 0; round < 50; ++round) {
    runtime::runtime first{home.system, {}, make_fake_components()};
    runtime::runtime second{home.system, {}, make_fake_components()};
    first.wait_until_ready();
    second.wait_until_ready();
    first.submit(text_request(std::to_string(2 * round), "x", 3),
                 spawn_client(home.system, events));
    second.submit(text_request(std::to_string(2 * round + 1), "x", 3),
                  spawn_client(home.system, events));
  }
  EXPECT_TRUE(events->wait_for_ends(100));
}

}  // namespace
}  // namespace vouch::test
