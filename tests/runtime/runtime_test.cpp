#include "runtime/runtime.hpp"

#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/runtime/fixture.hpp"

namespace vouch::test {
namespace {

using actors::failure;

std::string prompt_of(std::uint32_t seed, std::size_t length) {
  std::mt19937 random{seed};
  std::string out;
  while (out.size() < length) {
    out += static_cast<char>('a' + random() % 26);
  }
  return out;
}

runtime::config small_pool(std::int32_t running) {
  runtime::config settings;
  settings.policy.limits.max_running = running;
  return settings;
}

TEST(Runtime, TellsWhatItServes) {
  served all;
  EXPECT_EQ(all.runtime.current_state(), runtime::state::ready);
  EXPECT_EQ(all.runtime.load_share(), 1.0);
  EXPECT_TRUE(all.runtime.healthy());
  ASSERT_TRUE(all.runtime.model().has_value());
  EXPECT_EQ(all.runtime.model()->name, "fake");
  EXPECT_EQ(all.runtime.tokenize("ab", {}),
            (std::vector<engine::token_id>{fake_bos, 'a', 'b'}));
  EXPECT_EQ(all.runtime.detokenize({fake_bos, 'a', 'b'}, true), "ab");
  EXPECT_EQ(all.runtime.token_text(fake_bos), "<s>");
  EXPECT_THROW(all.runtime.apply_template("[]", "", "", true),
               engine::template_error);
}

TEST(Runtime, ManyAtOnceGetTheTextsTheyGetAlone) {
  std::map<std::string, std::string> alone;
  const auto request = [](int i) {
    auto out = text_request(std::to_string(i),
                            prompt_of(static_cast<std::uint32_t>(i),
                                      20 + static_cast<std::size_t>(i) * 3),
                            100);
    out.sampling.temperature = i % 2 == 0 ? 0.0F : 1.0F;
    out.sampling.seed = static_cast<std::uint64_t>(i);
    out.has_seed = true;
    return out;
  };
  {
    served one{small_pool(1)};
    for (int i = 0; i < 32; ++i) {
      const auto seen = one.run(request(i));
      ASSERT_FALSE(seen.failed) << seen.error.message;
      alone[std::to_string(i)] = seen.text();
    }
  }
  fake_executor_options options;
  options.delay = std::chrono::microseconds{500};
  for (const int in_flight : {1, 2}) {
    auto settings = small_pool(32);
    settings.engine.steps_in_flight = in_flight;
    served all{settings, options};
    for (int i = 0; i < 32; ++i) {
      all.submit(request(i));
    }
    ASSERT_TRUE(all.events->wait_for_ends(32));
    for (const auto& [id, seen] : all.events->all()) {
      EXPECT_EQ(seen.text(), alone[id]) << id;
      EXPECT_EQ(seen.terminals, 1);
      EXPECT_EQ(seen.misplaced, 0);
    }
    const auto stats = all.runtime.stats();
    EXPECT_GT(stats.decode_rows, stats.decode_steps * 8);
  }
}

TEST(Runtime, ChoicesAtTemperatureZeroAreTheSame) {
  served all;
  auto request = text_request("a", prompt_of(1, 40), 30);
  request.n = 4;
  const auto seen = all.run(request);
  ASSERT_EQ(seen.choices.size(), 4U) << seen.error.message;
  for (const auto& [index, choice] : seen.choices) {
    EXPECT_EQ(choice.ids(), seen.choices.at(0).ids()) << index;
    EXPECT_EQ(choice.finish_reason, "length");
  }
  EXPECT_EQ(seen.end.completion_tokens, 120);
  EXPECT_EQ(seen.end.prompt_tokens, 41);

  request.id = "b";
  request.sampling.temperature = 1;
  const auto drawn = all.run(request);
  EXPECT_NE(drawn.choices.at(0).ids(), drawn.choices.at(1).ids());
  // The seed that was drawn is told, and gives the same texts again.
  request.id = "c";
  request.has_seed = true;
  request.sampling.seed = drawn.start.seed;
  const auto again = all.run(request);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(drawn.choices.at(i).ids(), again.choices.at(i).ids());
  }
}

TEST(Runtime, StopsWhereThePlainTextStops) {
  fake_executor_options options;
  std::vector<engine::token_id> script_tokens;
  for (const char byte : std::string{"The quick brown fox jumps"}) {
    script_tokens.push_back(static_cast<unsigned char>(byte));
  }
  options.pick = script(script_tokens, 2, fake_turn_end);
  served all{{}, options};
  auto request = text_request("a", "p", 100);
  request.sampling.ignore_eos = false;
  auto seen = all.run(request);
  EXPECT_EQ(seen.text(), "The quick brown fox jumps");
  EXPECT_EQ(seen.choices.at(0).finish_reason, "stop");
  EXPECT_EQ(seen.choices.at(0).stop_reason, "");
  EXPECT_EQ(seen.end.completion_tokens, 25);

  request.id = "b";
  request.stop = {"zebra", "own fox"};
  seen = all.run(request);
  EXPECT_EQ(seen.text(), "The quick br");
  EXPECT_EQ(seen.choices.at(0).stop_reason, "own fox");

  request.id = "c";
  request.include_stop_string = true;
  EXPECT_EQ(all.run(request).text(), "The quick brown fox");

  // Where special tokens show, the text alone decides; the sequence ends too.
  request.id = "d";
  request.skip_special_tokens = false;
  request.include_stop_string = false;
  seen = all.run(request);
  EXPECT_EQ(seen.text(), "The quick br");
  EXPECT_EQ(seen.choices.at(0).stop_reason, "own fox");

  request.id = "e";
  request.stop = {};
  request.stop_token_ids = {'q'};
  seen = all.run(request);
  EXPECT_EQ(seen.text(), "The ");
  EXPECT_EQ(seen.choices.at(0).stop_reason, "");
  EXPECT_EQ(seen.choices.at(0).stop_token, int{'q'});
  EXPECT_TRUE(all.idle_again());
}

TEST(Runtime, EchoAndPromptLogprobsShowThePromptFirst) {
  served all;
  auto request = text_request("a", prompt_of(3, 300), 4);
  request.echo = true;
  request.n = 2;
  request.sampling.logprobs = 2;
  const auto seen = all.run(request);
  ASSERT_FALSE(seen.failed) << seen.error.message;
  for (const auto& [index, choice] : seen.choices) {
    EXPECT_EQ(choice.text.substr(0, 300), request.text);
    ASSERT_EQ(choice.prompt.size(), 301U);
    EXPECT_TRUE(std::isnan(choice.prompt[0].logprob));
    for (std::size_t i = 1; i < choice.prompt.size(); ++i) {
      EXPECT_EQ(choice.prompt[i].logprob, -0.5F) << index << " " << i;
      ASSERT_EQ(choice.prompt[i].top.size(), 2U);
      EXPECT_EQ(choice.prompt[i].top[0].token, choice.prompt[i].token);
    }
    ASSERT_EQ(choice.emitted.size(), 4U);
    EXPECT_EQ(choice.emitted[0].top.size(), 2U);
  }
  EXPECT_EQ(seen.end.cached_tokens, 0);
}

TEST(Runtime, TheSecondTimeComesFromTheCache) {
  served all;
  const auto cold = all.run(text_request("a", prompt_of(5, 200), 20));
  const auto warm = all.run(text_request("b", prompt_of(5, 200), 20));
  EXPECT_EQ(cold.text(), warm.text());
  EXPECT_EQ(cold.end.cached_tokens, 0);
  EXPECT_GE(warm.end.cached_tokens, 176);
  EXPECT_GT(all.runtime.stats().prefix_hits, 0U);
}

TEST(Runtime, PreemptedWorkResumesWithTheSameText) {
  std::vector<std::string> alone;
  {
    served one;
    for (std::uint32_t i = 0; i < 2; ++i) {
      alone.push_back(
          one.run(text_request(std::to_string(i), prompt_of(i, 100), 120))
              .text());
    }
  }
  fake_executor_options options;
  options.limits.blocks = 22;  // room for one and a half
  served all{{}, options};
  for (std::uint32_t i = 0; i < 2; ++i) {
    all.submit(text_request(std::to_string(i), prompt_of(i, 100), 120));
  }
  ASSERT_TRUE(all.events->wait_for_ends(2));
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto seen = all.events->wait(std::to_string(i));
    EXPECT_FALSE(seen.failed) << seen.error.message;
    EXPECT_EQ(seen.text(), alone[i]);
    EXPECT_EQ(seen.end.completion_tokens, 120);
  }
  EXPECT_GT(all.runtime.stats().preemptions, 0U);
}

TEST(Runtime, AHugeMaxTokensIsTheContextsRest) {
  fake_executor_options options;
  options.limits.context = 200;
  served all{{}, options};
  const auto seen =
      all.run(text_request("a", std::string(99, 'x'), std::int64_t{1} << 31));
  EXPECT_EQ(seen.start.max_tokens, 100);
  EXPECT_EQ(seen.end.completion_tokens, 100);
  EXPECT_EQ(seen.choices.at(0).finish_reason, "length");
}

TEST(Runtime, AFailedStepFailsItsRequestsAlone) {
  fake_executor_options options;
  std::atomic<bool> fail{false};
  options.observe = [&](const engine::step&) {
    if (fail.exchange(false)) {
      throw std::runtime_error("bad step");
    }
  };
  options.delay = std::chrono::microseconds{200};
  served all{{}, options};
  all.submit(text_request("a", "hello", 1000));
  ASSERT_TRUE(all.events->wait_for_tokens("a", 3));
  fail = true;
  const auto seen = all.events->wait("a");
  EXPECT_EQ(seen.terminals, 1);
  EXPECT_EQ(seen.error.kind, failure::internal);
  EXPECT_NE(seen.error.message.find("bad step"), std::string::npos);
  EXPECT_EQ(all.run(text_request("b", "hello", 5)).end.completion_tokens, 5);
}

TEST(Runtime, AThousandAbortsLeaveNothingBehind) {
  fake_executor_options options;
  options.delay = std::chrono::microseconds{100};
  served all{small_pool(16), options};
  const auto before = all.run(text_request("before", prompt_of(9, 50), 20));
  std::mt19937 random{1};
  std::size_t living = 1;
  for (int i = 0; i < 1000; ++i) {
    const auto id = std::to_string(i);
    auto request = text_request(
        id, prompt_of(static_cast<std::uint32_t>(i), 10 + random() % 100),
        1500);
    request.n = 1 + i % 2;
    const auto client = spawn_client(all.system(), all.events);
    all.runtime.submit(request, client);
    if (i % 3 == 0) {
      all.events->wait_for_tokens(id, 1);
    }
    if (i % 2 == 0) {
      all.runtime.cancel(id);
      ++living;
    } else {
      caf::anon_send_exit(client, caf::exit_reason::kill);
    }
  }
  ASSERT_TRUE(all.events->wait_for_ends(living));
  ASSERT_TRUE(all.idle_again());
  const auto stats = all.runtime.stats();
  EXPECT_EQ(stats.running, 0);
  EXPECT_EQ(stats.waiting, 0);
  EXPECT_EQ(stats.waiting_prompt_tokens, 0);
  for (const auto& [id, seen] : all.events->all()) {
    EXPECT_LE(seen.terminals, 1);
    EXPECT_EQ(seen.misplaced, 0);
  }
  const auto after = all.run(text_request("after", prompt_of(9, 50), 20));
  EXPECT_EQ(after.text(), before.text());
}

TEST(Runtime, CountersMove) {
  served all;
  auto request = text_request("a", prompt_of(1, 40), 10);
  all.run(request);
  auto bad = text_request("b", "a", 1);
  bad.n = 0;
  EXPECT_EQ(all.run(bad).error.param, "n");
  ASSERT_TRUE(all.idle_again());
  const auto text = all.runtime.metrics();
  for (const char* line :
       {"vouch_generation_tokens_total 10", "vouch_prompt_tokens_total 41",
        "vouch_request_success_total{finish_reason=\"length\"} 1",
        "vouch_rejections_total{reason=\"invalid\"} 1",
        "vouch_time_to_first_token_seconds_count 1",
        "vouch_inter_token_latency_seconds_count 9",
        "vouch_time_per_output_token_seconds_count 1",
        "vouch_e2e_request_latency_seconds_count 1",
        "vouch_request_queue_time_seconds_count 1",
        "vouch_request_prefill_time_seconds_count 1",
        "vouch_request_decode_time_seconds_count 1",
        "vouch_num_requests_running 0", "vouch_kv_cache_usage_ratio 0\n"}) {
    EXPECT_NE(text.find(std::string{"\n"} + line), std::string::npos)
        << line << "\n";
  }
  EXPECT_NE(text.find("vouch_build_info{"), std::string::npos);
  EXPECT_NE(text.find("fingerprint=\"vouch-test-fake\""), std::string::npos);
}

}  // namespace
}  // namespace vouch::test
