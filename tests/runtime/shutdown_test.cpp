#include <thread>

#include <gtest/gtest.h>

#include "tests/actors/gate_world.hpp"
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

/// The same while drafts and units of the gate are in flight.
TEST(Shutdown, WithDraftsAndTheGateInFlight) {
  temporary_folder folder;
  std::int64_t verified = 0;
  for (int round = 0; round < 200; ++round) {
    const auto events = std::make_shared<transcript>();
    host home;
    std::size_t sent = 0;
    {
      auto device = small_device(round % 4 == 0 ? 64 : 256);
      device.delay = std::chrono::microseconds{20};
      // From the fifth round on verdicts are stored: bursts and audits.
      gate_case one{folder.path() / std::to_string(round < 5 ? round : 5)};
      one.audit_share = 0.5;
      one.allow_inexact = round % 3 == 0;
      auto parts = make_fake_components(device);
      one.adjust()(parts.parts);
      runtime::config settings;
      settings.policy.limits.max_running = 16;
      settings.policy.limits.step_tokens = 128;
      settings.engine.steps_in_flight = 1 + round % 2;
      runtime::runtime all{home.system, settings, parts};
      all.wait_until_ready();
      if (round == 5) {
        for (int i = 0; i < 6000; ++i) {
          const auto gate = all.speculation().gate;
          if (gate && !gate->probing) break;
          std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
        EXPECT_EQ(all.speculation().gate->verdict, "equal");
      }
      if (round % 7 == 0) {
        // The gate is alone for a while.
        std::this_thread::sleep_for(std::chrono::microseconds{200 * round});
      }
      for (; sent < 6; ++sent) {
        auto request = text_request(std::to_string(sent), "some prompt", 300);
        request.n = 1 + static_cast<int>(sent % 2);
        all.submit(std::move(request), spawn_client(home.system, events));
      }
      if (round % 3 != 2) {
        events->wait_for_tokens("0", 1 + static_cast<std::size_t>(round) % 80);
      }
      verified += static_cast<std::int64_t>(all.stats().rounds);
      if (round % 4 == 0) {
        all.cancel("1");
      }
      if (round % 6 == 0) {
        auto rules = all.current_policy();
        rules.prefill.chunk_tokens = 40 + round % 3;
        all.set_policy(rules);
      }
      if (round % 5 == 0) {
        all.drain(std::chrono::milliseconds{1});
      }
    }
    ASSERT_TRUE(events->wait_for_ends(sent)) << round;
    for (const auto& [id, seen] : events->all()) {
      ASSERT_EQ(seen.terminals, 1) << round << " " << id;
      ASSERT_EQ(seen.misplaced, 0) << round << " " << id;
      if (seen.failed) {
        ASSERT_EQ(seen.error.kind, actors::failure::cancelled)
            << round << " " << id << ": " << seen.error.message;
      }
    }
  }
  // Bursts ran when it was stopped.
  EXPECT_GT(verified, 1000);
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
