// From the load to the last drain.

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "tests/runtime/fixture.hpp"

namespace vouch::test {
namespace {

using actors::failure;

/// A model whose load ends when `gate` is set.
runtime::components waiting_for(std::promise<void>& gate) {
  auto parts = make_fake_components();
  parts.parts.make_executor = [made = parts.parts.make_executor,
                               opened = gate.get_future().share()] {
    opened.wait();
    return made();
  };
  return parts;
}

TEST(Runtime, RequestsBeforeTheModelIsThereAreTold) {
  host home;
  const auto events = std::make_shared<transcript>();
  std::promise<void> gate;
  runtime::runtime all{home.system, {}, waiting_for(gate)};
  EXPECT_EQ(all.current_state(), runtime::state::loading);
  EXPECT_FALSE(all.model().has_value());
  EXPECT_THROW(all.tokenize("a", {}), std::logic_error);
  all.submit(text_request("early", "a", 1), spawn_client(home.system, events));
  EXPECT_EQ(events->wait("early").error.kind, failure::unavailable);
  gate.set_value();
  all.wait_until_ready();
  all.submit(text_request("a", "a", 1), spawn_client(home.system, events));
  EXPECT_EQ(events->wait("a").end.completion_tokens, 1);
}

TEST(Runtime, ADrainBeforeTheLoadHasEndedIsToldToWhoWaits) {
  host home;
  std::promise<void> gate;
  runtime::runtime all{home.system, {}, waiting_for(gate)};
  EXPECT_TRUE(all.drain(std::chrono::seconds{1}));
  EXPECT_THROW(all.wait_until_ready(), std::runtime_error);
  EXPECT_FALSE(all.model().has_value());
  gate.set_value();
}

TEST(Runtime, TheContextIsTheExecutors) {
  host home;
  auto parts = make_fake_components();
  parts.info.max_context = 7;
  runtime::runtime all{home.system, {}, parts};
  all.wait_until_ready();
  EXPECT_EQ(all.model()->max_context, fake_executor_options{}.limits.context);
}

TEST(Runtime, DrainLetsRunningRequestsFinish) {
  fake_executor_options options;
  options.delay = std::chrono::microseconds{200};
  served all{{}, options};
  all.submit(text_request("a", "hello", 100));
  all.events->wait_for_tokens("a", 1);
  EXPECT_TRUE(all.runtime.drain(std::chrono::seconds{30}));
  EXPECT_EQ(all.runtime.current_state(), runtime::state::draining);
  EXPECT_EQ(all.events->wait("a").end.completion_tokens, 100);
  EXPECT_EQ(all.run(text_request("b", "hello", 1)).error.kind,
            failure::unavailable);
}

TEST(Runtime, DrainCancelsWhatOverruns) {
  fake_executor_options options;
  options.delay = std::chrono::milliseconds{5};
  served all{{}, options};
  all.submit(text_request("a", "hello", 2000));
  all.events->wait_for_tokens("a", 1);
  EXPECT_FALSE(all.runtime.drain(std::chrono::milliseconds{50}));
  EXPECT_EQ(all.events->wait("a").error.kind, failure::cancelled);
}

TEST(Runtime, ReloadsAPolicyFileOrKeepsTheOldOne) {
  served all;
  const auto file =
      std::filesystem::path{testing::TempDir()} / "vouch_policy.toml";
  std::ofstream{file} << "[limits]\nmax_running = 3\n";
  EXPECT_NE(all.runtime.current_policy().limits.max_running, 3);
  all.runtime.reload_policy(file.string());
  EXPECT_EQ(all.runtime.current_policy().limits.max_running, 3);
  std::ofstream{file} << "[limits]\nmax_runing = 3\n";
  EXPECT_THROW(all.runtime.reload_policy(file.string()), engine::input_error);
  // The executor cannot grow: nothing of such a file is taken over.
  const auto refused = [&](const std::string& toml) {
    std::ofstream{file} << toml;
    try {
      all.runtime.reload_policy(file.string());
    } catch (const engine::input_error& error) {
      return std::string{error.what()};
    }
    return std::string{"taken over"};
  };
  const auto limits = fake_executor_options{}.limits;
  const auto slots = std::to_string(limits.slots + 1);
  const auto rows = std::to_string(limits.step_rows + 1);
  auto why =
      refused("[limits]\nstep_tokens = 512\nmax_running = " + slots + "\n");
  EXPECT_NE(why.find("vouch_policy.toml:3"), std::string::npos) << why;
  EXPECT_NE(why.find("limits.max_running: " + slots), std::string::npos) << why;
  EXPECT_NE(why.find("needs a restart"), std::string::npos) << why;
  why = refused("[limits]\nmax_running = 2\nstep_tokens = " + rows + "\n");
  EXPECT_NE(why.find("limits.step_tokens: " + rows), std::string::npos) << why;
  // Nor of a policy without a file.
  engine::policy rules;
  rules.limits.max_running = limits.slots + 1;
  EXPECT_THROW(all.runtime.set_policy(rules), engine::input_error);
  EXPECT_EQ(all.runtime.current_policy().limits.max_running, 3);
  EXPECT_EQ(all.run(text_request("a", "a", 2)).end.completion_tokens, 2);
  EXPECT_NE(all.runtime.metrics().find("vouch_config_generation 2"),
            std::string::npos);
}

}  // namespace
}  // namespace vouch::test
