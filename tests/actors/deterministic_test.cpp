// The actors from request to answer, step by step.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "tests/actors/world.hpp"

namespace vouch::actors {
namespace {

using std::chrono::milliseconds;
using test::one_at_a_time;
using test::text_request;
using test::world;

TEST(Deterministic, ARequestStartsAdvancesAndFinishesOnce) {
  world all;
  EXPECT_EQ(all.notices->state(), life::ready);
  all.submit(text_request("a", "hello", 5));
  all.run();
  EXPECT_EQ(all.see("a").starts, 1);
  EXPECT_EQ(all.see("a").terminals, 0);
  all.run_to_end();
  const auto seen = all.see("a");
  EXPECT_EQ(seen.terminals, 1);
  EXPECT_EQ(seen.misplaced, 0);
  EXPECT_FALSE(seen.failed) << seen.error.message;
  EXPECT_EQ(seen.choices.at(0).emitted.size(), 5U);
  EXPECT_EQ(seen.choices.at(0).finish_reason, "length");
  EXPECT_EQ(seen.start.prompt_tokens, 6);
  EXPECT_EQ(seen.end.prompt_tokens, 6);
  EXPECT_EQ(seen.end.completion_tokens, 5);
}

TEST(Deterministic, WhatArrivesDuringAStepJoinsTheNext) {
  world all;
  all.submit(text_request("a", "one", 8));
  all.run();
  for (const char* id : {"b", "c", "d"}) {
    all.submit(text_request(id, id, 8));
  }
  all.run();
  EXPECT_EQ(all.device()->steps_held(), 1U);
  EXPECT_EQ(all.device()->oldest().items.size(), 1U);
  all.finish_step();
  EXPECT_EQ(all.device()->oldest().items.size(), 4U);
  all.run_to_end();
  for (const char* id : {"a", "b", "c", "d"}) {
    EXPECT_EQ(all.see(id).end.completion_tokens, 8) << id;
  }
}

TEST(Deterministic, AClientsDeathAborts) {
  world all;
  const auto client = all.client();
  all.submit(text_request("a", "hello", 1000), client);
  all.run();
  all.finish_step();
  EXPECT_EQ(all.counters->stats().running, 1);
  caf::anon_send_exit(client, caf::exit_reason::kill);
  all.run();
  all.finish_step();
  EXPECT_EQ(all.counters->stats().running, 0);
  EXPECT_EQ(all.counters->stats().waiting, 0);
  EXPECT_EQ(all.device()->steps_held(), 0U);
  EXPECT_EQ(all.see("a").terminals, 0);  // there was nobody to tell
}

TEST(Deterministic, CancelEndsOnceWhereverTheRequestIs) {
  world all{one_at_a_time()};
  all.submit(text_request("running", "hello", 1000));
  all.submit(text_request("waiting", "hello", 1000));
  all.run();
  all.finish_step();
  for (const char* id : {"running", "waiting"}) {
    all.cancel(id);
    all.cancel(id);
  }
  all.run_to_end();
  for (const char* id : {"running", "waiting"}) {
    EXPECT_EQ(all.see(id).terminals, 1) << id;
    EXPECT_EQ(all.see(id).error.kind, failure::cancelled) << id;
  }
  EXPECT_EQ(all.counters->stats().running, 0);
  all.submit(text_request("next", "hello", 3));
  all.run_to_end();
  EXPECT_EQ(all.see("next").end.completion_tokens, 3);
}

TEST(Deterministic, AFullQueueRefusesBeforeTokenising) {
  auto rules = one_at_a_time();
  rules.limits.max_queued_requests = 2;
  world all{rules};
  all.submit(text_request("a", "hello", 50));
  all.run();
  for (const char* id : {"b", "c", "d"}) {
    all.submit(text_request(id, "hello", 1));
  }
  all.run();
  int refused = 0;
  for (const char* id : {"b", "c", "d"}) {
    const auto seen = all.see(id);
    if (seen.failed) {
      ++refused;
      EXPECT_EQ(seen.error.kind, failure::queue_full);
      EXPECT_EQ(seen.starts, 0);
    }
  }
  EXPECT_EQ(refused, 1);
  all.run_to_end();
  EXPECT_NE(
      all.counters->text().find("vouch_rejections_total{reason=\"queue_full\"} "
                                "1"),
      std::string::npos);
}

// However many choices it has, a request is one in the queue, and its prompt
// stands there once.
TEST(Deterministic, ARequestWithManyChoicesFitsTheSmallestQueue) {
  auto rules = one_at_a_time();
  rules.limits.max_queued_requests = 1;
  rules.limits.max_queued_prompt_tokens = 3;  // less than the prompt
  world all{rules};
  for (const char* id : {"a", "b"}) {
    auto request = text_request(id, "hello", 4);
    request.n = 3;
    all.submit(request);
    all.run_to_end();
    EXPECT_FALSE(all.see(id).failed) << all.see(id).error.message;
    EXPECT_EQ(all.see(id).end.completion_tokens, 12);
  }
}

TEST(Deterministic, APromptOfManyChoicesCountsOnce) {
  world all;
  for (const char* id : {"a", "b"}) {
    auto request = text_request(id, std::string(40, 'x'), 4);
    request.n = 4;
    all.submit(request);
    all.run_to_end();
    EXPECT_EQ(all.see(id).end.prompt_tokens, 41);
    EXPECT_EQ(all.see(id).end.cached_tokens, id[0] == 'a' ? 0 : 32);
  }
  const auto stats = all.counters->stats();
  EXPECT_EQ(stats.prompt_tokens, 82U);
  EXPECT_EQ(stats.prefix_queries, 82U);
  EXPECT_EQ(stats.prefix_hits, 32U);
}

// A client in JavaScript has to be able to send it back.
TEST(Deterministic, ADrawnSeedIsExactInADouble) {
  world all;
  std::uint64_t all_bits = 0;
  for (int i = 0; i < 20; ++i) {
    const auto id = std::to_string(i);
    auto request = text_request(id, "x", 1);
    request.has_seed = false;
    all.submit(request);
    all.run_to_end();
    all_bits |= all.see(id).start.seed;
  }
  EXPECT_LT(all_bits, std::uint64_t{1} << 53);
  EXPECT_GT(all_bits, std::uint64_t{1} << 48);
}

TEST(Deterministic, QueueTimeoutAndRequestTimeoutFail) {
  auto rules = one_at_a_time();
  rules.limits.queue_timeout = 1.0;
  rules.limits.request_timeout = 3.0;
  world all{rules};
  all.submit(text_request("running", "hello", 1000));
  all.run();
  all.submit(text_request("waiting", "hello", 1000));
  all.run();
  all.advance(milliseconds{900});
  EXPECT_EQ(all.see("waiting").terminals, 0);
  all.advance(milliseconds{400});
  EXPECT_EQ(all.see("waiting").error.kind, failure::timeout);
  EXPECT_FALSE(all.see("waiting").error.message.empty());
  EXPECT_EQ(all.see("running").terminals, 0);
  const auto counted = [&](const char* line) {
    return all.counters->text().find(line) != std::string::npos;
  };
  // It never had a choice that went wrong.
  EXPECT_TRUE(counted("vouch_rejections_total{reason=\"timeout\"} 1"));
  EXPECT_TRUE(
      counted("vouch_request_success_total{finish_reason=\"error\"} 0"));
  all.finish_step();
  all.advance(milliseconds{2000});
  EXPECT_TRUE(counted("vouch_rejections_total{reason=\"timeout\"} 1"));
  EXPECT_TRUE(
      counted("vouch_request_success_total{finish_reason=\"error\"} 1"));
  EXPECT_EQ(all.see("running").error.kind, failure::timeout);
  all.run_to_end();
  EXPECT_EQ(all.counters->stats().running, 0);
}

TEST(Deterministic, ChoicesThatWaitForASlotDoNotTimeTheRunningOneOut) {
  auto rules = one_at_a_time();
  rules.limits.queue_timeout = 1.0;
  world all{rules};
  auto request = text_request("a", "hello", 3);
  request.n = 2;
  all.submit(request);
  all.run();
  all.advance(milliseconds{1500});
  EXPECT_EQ(all.see("a").terminals, 0);
  all.run_to_end();
  EXPECT_EQ(all.see("a").end.completion_tokens, 6);
}

TEST(Deterministic, EchoOfNoTokensIsLegal) {
  world all;
  auto request = text_request("a", "hello", 0);
  request.echo = true;
  all.submit(request);
  request.id = "scored";
  request.sampling.logprobs = 1;
  all.submit(request);
  all.run_to_end();
  for (const char* id : {"a", "scored"}) {
    const auto seen = all.see(id);
    ASSERT_FALSE(seen.failed) << seen.error.message;
    EXPECT_EQ(seen.terminals, 1);
    EXPECT_EQ(seen.text(), "hello");
    EXPECT_EQ(seen.choices.at(0).prompt.size(), 6U);
    EXPECT_EQ(seen.choices.at(0).emitted.size(), 0U);
    EXPECT_EQ(seen.choices.at(0).finish_reason, "length");
    EXPECT_EQ(seen.end.completion_tokens, 0);
  }
  EXPECT_EQ(all.see("scored").choices.at(0).prompt[3].logprob, -0.5F);
  EXPECT_EQ(all.counters->stats().running, 0);
}

/// Whatever happens in whatever order, a living client gets one terminal event.
TEST(Deterministic, OneTerminalEventUnderRandomAborts) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t n) { return random() % n; };
    engine::policy rules;
    rules.limits.max_running = 4;
    rules.limits.max_queued_requests = 6;
    rules.limits.request_timeout = 20;
    test::fake_executor_options options;
    options.limits = {12, 8, 64, 200};
    world all{rules, options};
    std::vector<std::pair<std::string, client_actor>> sent;
    std::vector<std::string> dead;
    for (int turn = 0; turn < 120; ++turn) {
      switch (below(8)) {
        case 0:
        case 1: {
          const auto id = std::to_string(sent.size());
          auto request =
              text_request(id, std::string(below(60), 'x'), 1 + below(40));
          request.n = 1 + static_cast<std::int32_t>(below(3));
          request.sampling.ignore_eos = below(2) == 0;
          sent.emplace_back(id, all.client());
          all.submit(request, sent.back().second);
          break;
        }
        case 2:
          if (!sent.empty()) {
            all.cancel(sent[below(sent.size())].first);
          }
          break;
        case 3:
          if (!sent.empty() && below(2) == 0) {
            const auto& victim = sent[below(sent.size())];
            caf::anon_send_exit(victim.second, caf::exit_reason::kill);
            dead.push_back(victim.first);
          }
          break;
        case 4:
          all.advance(milliseconds{below(500)});
          break;
        default:
          if (all.device()) {
            all.device()->finish_step();
          }
      }
      if (below(2) == 0) {
        all.run();
      }
    }
    if (seed % 2 == 0) {
      all.run_to_end();
    } else {
      caf::anon_send(all.supervisor, stop_atom_v);
      all.run();
    }
    for (const auto& [id, client] : sent) {
      const auto seen = all.see(id);
      EXPECT_EQ(seen.misplaced, 0) << seed << " " << id;
      if (std::find(dead.begin(), dead.end(), id) == dead.end()) {
        EXPECT_EQ(seen.terminals, 1) << seed << " " << id;
      } else {
        EXPECT_LE(seen.terminals, 1) << seed << " " << id;
      }
    }
    if (seed % 2 == 0) {
      EXPECT_EQ(all.counters->stats().running, 0);
      EXPECT_EQ(all.counters->stats().waiting, 0);
    }
  }
}

}  // namespace
}  // namespace vouch::actors
