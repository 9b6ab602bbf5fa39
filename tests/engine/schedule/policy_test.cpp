#include "engine/schedule/policy.hpp"

#include <gtest/gtest.h>

#include "engine/error.hpp"

namespace vouch::engine {
namespace {

const std::filesystem::path policies =
    std::filesystem::path{VOUCH_SOURCE_DIR} / "configs/policies";

std::string error_of(const char* text) {
  try {
    parse_policy(text, "p.toml");
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Policy, TheDefaultFileIsTheDefaults) {
  std::map<std::string, std::string> origins;
  const policy file = load_policy(policies / "fcfs.toml", &origins);
  const policy d;
  EXPECT_EQ(file.limits.max_running, d.limits.max_running);
  EXPECT_EQ(file.limits.step_tokens, d.limits.step_tokens);
  EXPECT_EQ(file.limits.max_queued_requests, d.limits.max_queued_requests);
  EXPECT_EQ(file.limits.max_queued_prompt_tokens,
            d.limits.max_queued_prompt_tokens);
  EXPECT_EQ(file.limits.queue_timeout, d.limits.queue_timeout);
  EXPECT_EQ(file.limits.request_timeout, d.limits.request_timeout);
  EXPECT_EQ(file.order.by, d.order.by);
  EXPECT_EQ(file.order.low_priority_value_first,
            d.order.low_priority_value_first);
  EXPECT_EQ(file.order.ageing, d.order.ageing);
  EXPECT_EQ(file.prefill.chunk_tokens, d.prefill.chunk_tokens);
  EXPECT_EQ(file.prefill.decode_steps_between_chunks,
            d.prefill.decode_steps_between_chunks);
  EXPECT_EQ(file.prefill.max_parallel, d.prefill.max_parallel);
  EXPECT_EQ(file.prefill.long_prompt_tokens, d.prefill.long_prompt_tokens);
  EXPECT_EQ(file.cache.reserve_full, d.cache.reserve_full);
  EXPECT_EQ(file.cache.watermark, d.cache.watermark);
  EXPECT_EQ(file.cache.prefix_cache, d.cache.prefix_cache);
  EXPECT_EQ(file.preempt.mode, d.preempt.mode);
  EXPECT_EQ(file.preempt.victim, d.preempt.victim);
  // It shows every key there is.
  EXPECT_EQ(origins.size(), 19U);
  EXPECT_EQ(origins.at("limits.max_running"),
            (policies / "fcfs.toml").string() + ":6");
}

TEST(Policy, TheExamplesLoad) {
  EXPECT_EQ(load_policy(policies / "priority.toml").order.by,
            order_by::priority);
  EXPECT_EQ(load_policy(policies / "priority.toml").preempt.victim,
            preempt_victim::lowest_priority);
  EXPECT_EQ(load_policy(policies / "shortest_prompt.toml").order.by,
            order_by::shortest_prompt);
  const policy fair = load_policy(policies / "fair.toml");
  EXPECT_EQ(fair.order.by, order_by::fair);
  EXPECT_EQ(fair.preempt.victim, preempt_victim::largest);
  EXPECT_EQ(fair.limits.queue_timeout, 60.0);
}

TEST(Policy, EveryMistakeIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[limits]\nmax_runing = 3\n",
       "p.toml:2: limits.max_runing: unknown key, did you mean "
       "'max_running'?"},
      {"[limit]\nmax_running = 3\n",
       "p.toml:1: limit: unknown key, did you mean 'limits'?"},
      {"[prefill]\nstep_tokens = 3\n",
       "p.toml:2: prefill.step_tokens: unknown key, did you mean "
       "'limits.step_tokens'?"},
      {"[limits]\nmax_running = \"many\"\n",
       "p.toml:2: limits.max_running: must be an integer, not a string"},
      {"[limits]\nmax_running = 1.5\n",
       "p.toml:2: limits.max_running: must be an integer, not a number"},
      {"[limits]\n\nmax_running = 0\n",
       "p.toml:3: limits.max_running: 0 is not between 1 and 1000000"},
      {"[limits]\nqueue_timeout = -1.0\n",
       "p.toml:2: limits.queue_timeout: -1 is not between 0 and 3.16224e+07"},
      {"[cache]\nwatermark = 0.9\n",
       "p.toml:2: cache.watermark: 0.9 is not between 0 and 0.5"},
      {"[cache]\nprefix_cache = 1\n",
       "p.toml:2: cache.prefix_cache: must be true or false, not an integer"},
      {"[order]\nby = \"fifo\"\n",
       "p.toml:2: order.by: 'fifo' is not one of fcfs, priority, "
       "shortest_prompt, fair; did you mean 'fcfs'?"},
      {"[cache]\neviction = \"random\"\n",
       "p.toml:2: cache.eviction: 'random' is not one of lru"},
      {"limits = 3\n", "p.toml:1: limits: must be a table"},
      {"[speculation]\nmax_width = 8\n",
       "p.toml:2: speculation.max_width: not built yet"},
      {"[slo]\nttft = 0.5\n", "p.toml:2: slo.ttft: not built yet"},
      {"[limits]\nstep_tokens = 100\n[prefill]\nchunk_tokens = 200\n",
       "p.toml:4: prefill.chunk_tokens: 200 is more than limits.step_tokens "
       "(100)"},
      {"[limits]\nmax_running = 600\n",
       "p.toml:2: limits.max_running: 600 is more than limits.step_tokens "
       "(512, its default)"},
      {"[limits]\nmax_running = 4\n[prefill]\nmax_parallel = 5\n",
       "p.toml:4: prefill.max_parallel: 5 is more than limits.max_running "
       "(4)"},
      {"[limits]\nqueue_timeout = 9\nrequest_timeout = 5\n",
       "p.toml:2: limits.queue_timeout: is longer than "
       "limits.request_timeout"},
      {"[cache]\nreserve = \"prompt\"\n[preempt]\nmode = \"off\"\n",
       "p.toml:2: cache.reserve: must be \"full\" where preempt.mode is "
       "\"off\": memory that was not reserved could run out"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(text), message) << text;
  }
  EXPECT_EQ(error_of("[limits\n").rfind("p.toml:1: ", 0), 0U);
}

TEST(Policy, DefaultsFollowWhatIsWritten) {
  const policy small = parse_policy("[limits]\nstep_tokens = 4\n", "p");
  EXPECT_EQ(small.limits.max_running, 4);
  EXPECT_EQ(small.prefill.chunk_tokens, 4);
  EXPECT_EQ(small.prefill.max_parallel, 4);
  EXPECT_TRUE(
      parse_policy("[preempt]\nmode = \"off\"\n", "p").cache.reserve_full);
}

}  // namespace
}  // namespace vouch::engine
