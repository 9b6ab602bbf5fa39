// The row contract as users see it: whatever the scheduler does with a
// sequence, its tokens and their log-probabilities are those of the sequence
// alone.

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "engine/schedule/scheduler.hpp"
#include "tests/engine/executor/step_items.hpp"
#include "tests/engine/row_contract/faults.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch {
namespace {

using engine::picked_token;
using engine::sequence_id;
using engine::sequence_start;
using engine::token_id;

bool same_bytes(float a, float b) { return std::memcmp(&a, &b, 4) == 0; }

bool same(const picked_token& a, const picked_token& b) {
  return a.token == b.token && same_bytes(a.logprob, b.logprob) &&
         std::equal(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(),
                    [](const auto& x, const auto& y) {
                      return x.token == y.token &&
                             same_bytes(x.logprob, y.logprob);
                    });
}

struct served_text {
  std::vector<picked_token> tokens;
  engine::finish_reason reason = engine::finish_reason::aborted;
};

/// The text by hand-made steps: the prompt at once, then one row at a time.
served_text text_alone(const std::shared_ptr<engine::model>& weights,
                       const sequence_start& wanted) {
  engine::cpu_executor_options options;
  options.threads = 1;
  options.blocks = 32;
  options.slots = 1;
  const auto device = engine::make_cpu_executor(weights, options);
  const auto prompt = static_cast<std::int32_t>(wanted.prompt.size());
  device->open({0, wanted.sampling, prompt});
  const auto blocks = test::block_range(0, 32);
  served_text text;
  text.reason = engine::finish_reason::length;
  auto item = test::prefill(0, 0, wanted.prompt, blocks);
  for (std::int32_t position = prompt;; ++position) {
    const auto result = engine::run_step(*device, test::make_step(1, {item}));
    const auto& picked = result.items.at(0).picks.at(0);
    const auto& stops = wanted.sampling.stop_tokens;
    if (std::find(stops.begin(), stops.end(), picked.token) != stops.end()) {
      text.reason = engine::finish_reason::stop;
      return text;
    }
    text.tokens.push_back(picked);
    if (static_cast<std::int64_t>(text.tokens.size()) == wanted.max_tokens) {
      return text;
    }
    item = test::decode(0, position, picked.token, blocks);
  }
}

/// Prompts with common prefixes of several lengths; greedy and seeded, with and
/// without penalties, stop tokens and log-probabilities.
std::vector<sequence_start> wanted_sequences(std::int64_t vocab_size) {
  std::mt19937 random{99};
  const auto token = [&] {
    return static_cast<token_id>(
        3 + random() % static_cast<std::uint32_t>(vocab_size - 3));
  };
  std::vector<token_id> common(100);
  std::generate(common.begin(), common.end(), token);
  std::vector<sequence_start> sequences;
  for (std::uint32_t i = 0; i < 24; ++i) {
    sequence_start s;
    s.id = i + 1;
    const std::size_t shared = i % 3 == 0 ? 0 : (i * 37) % 97;
    s.prompt.assign(common.begin(),
                    common.begin() + static_cast<std::ptrdiff_t>(shared));
    for (std::size_t n = 1 + random() % 40; n > 0; --n) {
      s.prompt.push_back(token());
    }
    s.max_tokens = 5 + static_cast<std::int64_t>(random() % 50);
    s.sampling.temperature = i % 2 == 0 ? 0.0F : 0.9F;
    s.sampling.top_p = i % 4 == 1 ? 0.9F : 1.0F;
    s.sampling.top_k = i % 8 == 3 ? 20 : 0;
    s.sampling.seed = 1000 + i;
    s.sampling.logprobs = 2;
    s.sampling.frequency_penalty = i % 5 == 0 ? 0.7F : 0.0F;
    s.sampling.repetition_penalty = i % 7 == 0 ? 1.3F : 1.0F;
    if (i % 6 == 1) {
      s.sampling.stop_tokens.resize(40);
      std::generate(s.sampling.stop_tokens.begin(),
                    s.sampling.stop_tokens.end(), token);
      std::sort(s.sampling.stop_tokens.begin(), s.sampling.stop_tokens.end());
      s.sampling.min_tokens = 3;
    }
    sequences.push_back(std::move(s));
  }
  return sequences;
}

struct serving {
  int threads = 2;
  std::int32_t blocks = 26;
  int steps_in_flight = 2;
  std::uint32_t seed = 1;
};

struct served {
  std::map<sequence_id, served_text> texts;
  engine::scheduler_stats stats;
  std::string error;
};

/// Serves the sequences, each twice (the second time its prefix may stand in
/// the cache), arriving in seeded order at seeded steps.
served serve(const std::shared_ptr<engine::model>& weights,
             std::vector<sequence_start> sequences, const serving& how) {
  engine::cpu_executor_options options;
  options.threads = how.threads;
  options.blocks = how.blocks;
  options.slots = 8;
  options.step_rows = 64;
  const auto device = engine::make_cpu_executor(weights, options);
  engine::policy rules;
  rules.limits.max_running = 8;
  rules.limits.step_tokens = 64;
  rules.prefill.chunk_tokens = 24;
  engine::scheduler scheduler{rules, device->limits(), how.steps_in_flight, {}};

  std::mt19937 random{how.seed};
  const auto once = sequences;
  for (auto again : once) {
    again.id += 1000;
    sequences.push_back(std::move(again));
  }
  std::shuffle(sequences.begin(), sequences.end(), random);

  served result;
  std::deque<std::future<engine::step_result>> in_flight;
  std::int64_t now = 0;
  while (result.error.empty() && (!sequences.empty() || !scheduler.idle())) {
    while (!sequences.empty() && (random() % 4 == 0 || scheduler.idle())) {
      if (scheduler.add(sequences.back(), now) != engine::rejection::none) {
        result.error = "a sequence was rejected";
      }
      sequences.pop_back();
    }
    while (auto planned = scheduler.plan(now)) {
      for (const auto slot : planned->released) {
        device->release(slot);
      }
      for (auto& start : planned->opened) {
        device->open(std::move(start));
      }
      for (auto& history : planned->histories) {
        device->set_history(history.slot, std::move(history.tokens));
      }
      in_flight.push_back(engine::submit(*device, std::move(planned->work)));
    }
    now += 3;
    if (in_flight.empty()) {
      if (!scheduler.idle()) {
        result.error = "work is left and nothing is planned";
      }
      continue;
    }
    const auto done = in_flight.front().get();
    in_flight.pop_front();
    result.error += done.error;
    for (auto& update : scheduler.update(done)) {
      auto& text = result.texts[update.id];
      result.error += update.error;
      for (auto& picked : update.tokens) {
        text.tokens.push_back(std::move(picked));
      }
      if (update.finished) {
        text.reason = update.reason;
      }
    }
    result.error += scheduler.check_invariants();
  }
  result.stats = scheduler.stats();
  return result;
}

class served_text_test : public testing::Test {
 protected:
  void SetUp() override {
    weights = test::load(test::fixture(test::tiny_checkpoint));
    sequences = wanted_sequences(weights->config().vocab_size);
    for (const auto& s : sequences) {
      expected[s.id] = text_alone(weights, s);
    }
  }

  /// Sequences, out of twice as many as there are, whose text is another one.
  int different(const served& result) const {
    int count = 0;
    for (const auto& [id, text] : expected) {
      for (const sequence_id served_as : {id, id + 1000}) {
        const auto found = result.texts.find(served_as);
        count += found == result.texts.end() ||
                 found->second.reason != text.reason ||
                 !std::equal(text.tokens.begin(), text.tokens.end(),
                             found->second.tokens.begin(),
                             found->second.tokens.end(), same);
      }
    }
    return count;
  }

  std::shared_ptr<engine::model> weights;
  std::vector<sequence_start> sequences;
  std::map<sequence_id, served_text> expected;
};

TEST_F(served_text_test, EqualsTheTextAlone) {
  std::uint64_t preemptions = 0;
  std::uint64_t hits = 0;
  bool stopped = false;
  for (const auto& [id, text] : expected) {
    stopped = stopped || text.reason == engine::finish_reason::stop;
  }
  EXPECT_TRUE(stopped);
  for (const int threads : {1, 2, 3}) {
    for (const int in_flight : {1, 2, 3}) {
      for (const std::int32_t blocks : {14, 26, 200}) {
        serving how;
        how.threads = threads;
        how.blocks = blocks;
        how.steps_in_flight = in_flight;
        how.seed = static_cast<std::uint32_t>(threads * 100 + in_flight);
        const auto result = serve(weights, sequences, how);
        EXPECT_EQ(result.error, "");
        EXPECT_EQ(result.texts.size(), 2 * sequences.size());
        EXPECT_EQ(different(result), 0)
            << threads << " threads, " << in_flight << " in flight, " << blocks
            << " blocks";
        preemptions += result.stats.preemptions;
        hits += result.stats.prefix_hits;
      }
    }
  }
  EXPECT_GT(preemptions, 20U);
  EXPECT_GT(hits, 100U);
  std::printf("%lu preemptions, %lu tokens from the prefix cache\n",
              static_cast<unsigned long>(preemptions),
              static_cast<unsigned long>(hits));
}

TEST_F(served_text_test, AViolationShows) {
  // One logit is an eighth off in batches of eight rows and more.
  const auto broken = std::make_shared<test::faulty_model>(
      weights, test::fault::eight_rows, 20);
  const auto result = serve(broken, sequences, {});
  EXPECT_EQ(result.error, "");
  EXPECT_GT(different(result), 0);
}

}  // namespace
}  // namespace vouch
