// What is served with a drafter is, byte for byte, what the model alone gives:
// SmolLM2, six widths, six drafters, greedy and sampled, alone and among
// others. With VOUCH_PARITY=all every prompt runs in every arm
// (docs/instruments.md).

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/speculation/transcript_check.hpp"
#include "kernels/thread_pool.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/parity/arm.hpp"
#include "tests/parity/corpus.hpp"
#include "tests/parity/run.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {
namespace {

constexpr int all_widths[] = {2, 3, 4, 6, 8, 16};

bool everything() {
  const char* scale = std::getenv("VOUCH_PARITY");
  return scale != nullptr && std::string{scale} == "all";
}

/// An arm, and the prompts that run in it.
struct arm_plan {
  drafting how;
  int width;
  std::vector<std::size_t> prompts;
};

class parity : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const auto path = cached(real_checkpoint);
    VOUCH_REQUIRE_CACHED(path);
    weights = load(path);
    const auto source = engine::open_checkpoint(path);
    const auto tokenizer = engine::load_tokenizer(path);
    eos = source->eos_tokens();
    prompts = load_parity_prompts(fixture("parity/prompts.txt"), *tokenizer);
    vocabulary = static_cast<engine::token_id>(weights->config().vocab_size);
    budget = everything() ? 32 : 24;
    decode_classically();
  }

  bool sampled() const { return GetParam(); }

  engine::sequence_start start_of(std::size_t prompt) const {
    engine::sequence_start start;
    start.prompt = prompts[prompt].tokens;
    start.max_tokens = budget;
    auto& how = start.sampling;
    how.temperature = 0.0F;
    how.stop_tokens = eos;
    how.min_tokens = 2;
    how.seed = 1000 + prompt;
    if (sampled()) {
      how.temperature = 0.8F;
      how.top_p = 0.95F;
      how.presence_penalty = 0.4F;
      how.frequency_penalty = 0.2F;
      how.repetition_penalty = 1.1F;
    }
    if (const auto own = stops.find(prompt); own != stops.end()) {
      how.request_stop_tokens = {own->second};
    }
    return start;
  }

  /// One sequence at a time, cold, without a drafter.
  std::vector<parity_text> alone(const std::vector<std::size_t>& which) {
    std::vector<parity_sequence> sequences;
    for (const auto p : which) {
      sequences.push_back({prompts[p].name, start_of(p), nullptr, 1});
      sequences.back().start.speculate = false;
    }
    parity_run_options options;
    options.prefix_cache = false;
    auto run = serve(weights, std::move(sequences), options);
    EXPECT_EQ(run.error, "");
    EXPECT_EQ(run.stats.rounds, 0U);
    return std::move(run.texts);
  }

  void decode_classically() {
    std::vector<std::size_t> every;
    for (std::size_t p = 0; p < prompts.size(); ++p) every.push_back(p);
    classic = alone(every);
    std::vector<std::size_t> stopped;
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      auto text = prompts[p].tokens;
      const auto& more = classic[p].tokens;
      text.insert(text.end(), more.begin(), more.end());
      // Drafts may go on behind the end.
      text.insert(text.end(), 16, text.back());
      known.push_back(std::move(text));
      // A token of the text becomes one that ends it: in the midst of a run.
      if (p % 4 == 1 && more.size() > 8) {
        stops[p] = more[more.size() * 2 / 3];
        stopped.push_back(p);
      }
    }
    auto again = alone(stopped);
    for (std::size_t i = 0; i < stopped.size(); ++i) {
      EXPECT_EQ(again[i].reason, engine::finish_reason::stop);
      classic[stopped[i]] = std::move(again[i]);
    }
  }

  /// Every arm with some of the prompts, each with others; all of them with
  /// VOUCH_PARITY=all.
  std::vector<arm_plan> plan(std::size_t count) const {
    std::vector<arm_plan> arms;
    std::size_t next = 0;
    const std::size_t n = prompts.size();
    for (const auto how : all_draftings) {
      for (const int width : all_widths) {
        arm_plan arm{how, width, {}};
        for (std::size_t i = 0; i < (everything() ? n : count); ++i) {
          arm.prompts.push_back(next++ % n);
        }
        if (how == drafting::lookup) {
          // What there is something to look up for.
          for (std::size_t p = 0; p < n; ++p) {
            const bool copies = prompts[p].kind == "repetition";
            if (copies && !std::ranges::count(arm.prompts, p)) {
              arm.prompts.push_back(p);
            }
          }
        }
        ++next;
        arms.push_back(std::move(arm));
      }
    }
    return arms;
  }

  parity_sequence sequence_of(const arm_plan& arm, std::size_t prompt) const {
    parity_sequence made;
    made.start = start_of(prompt);
    made.label = prompts[prompt].name + "/" + std::string{name_of(arm.how)} +
                 "/" + std::to_string(arm.width);
    made.width = arm.width;
    made.drafter =
        open_drafter(arm.how, known[prompt], vocabulary, 77 + prompt);
    return made;
  }

  /// Serves the arms' sequences and judges them.
  void run_arms(const std::vector<arm_plan>& plans,
                const std::vector<parity_run_options>& runs) {
    const bool lonely = runs.front().at_once == 1;
    std::vector<parity_arm> arms;
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t a = 0; a < plans.size(); ++a) {
      arms.emplace_back(plans[a].how, plans[a].width, lonely);
      for (const auto p : plans[a].prompts) order.emplace_back(a, p);
    }
    // Neighbours are of all kinds.
    std::shuffle(order.begin(), order.end(), std::mt19937{7});
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> parts(
        runs.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::size_t r = i % runs.size();
      // What would fill a small pool alone goes to the first run.
      const auto room = static_cast<std::size_t>(runs[r].blocks) * 8;
      if (prompts[order[i].second].tokens.size() > room) r = 0;
      parts[r].push_back(order[i]);
    }
    engine::scheduler_stats seen;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      const auto stats = run_once(plans, parts[r], runs[r], arms);
      seen.preemptions += stats.preemptions;
      seen.prefix_hits += stats.prefix_hits;
    }
    judge(arms, seen, lonely);
  }

  engine::scheduler_stats run_once(
      const std::vector<arm_plan>& plans,
      const std::vector<std::pair<std::size_t, std::size_t>>& mine,
      const parity_run_options& options, std::vector<parity_arm>& arms) {
    std::vector<parity_sequence> sequences;
    engine::classic_texts texts;
    for (const auto& [a, p] : mine) {
      sequences.push_back(sequence_of(plans[a], p));
      texts[{sequences.back().label, 0}] = classic[p].tokens;
    }
    const auto run = serve(weights, std::move(sequences), options);
    EXPECT_EQ(run.error, "");
    for (std::size_t i = 0; i < mine.size(); ++i) {
      arms[mine[i].first].take(prompts[mine[i].second].name,
                               classic[mine[i].second], run.texts[i]);
    }
    const auto entries = engine::parse_transcript("transcript", run.transcript);
    const auto report = engine::check_transcript(entries, &texts);
    EXPECT_EQ(report.rounds, static_cast<std::int64_t>(run.stats.rounds));
    EXPECT_EQ(report.drafted,
              static_cast<std::int64_t>(run.stats.drafted_tokens));
    EXPECT_EQ(report.accepted,
              static_cast<std::int64_t>(run.stats.accepted_tokens));
    EXPECT_GT(report.compared, 0);
    for (const auto& each : report.failures) {
      ADD_FAILURE() << "transcript, line " << each.line << ": "
                    << name_of(each.rule) << ": " << each.detail << " ("
                    << each.name.request << ")";
    }
    return run.stats;
  }

  void judge(const std::vector<parity_arm>& arms,
             const engine::scheduler_stats& seen, bool lonely) const {
    std::int64_t rows = 0;
    std::int64_t kv_rows = 0;
    std::int64_t looked_up = 0;
    for (const auto& arm : arms) {
      for (const auto& failure : arm.failures()) ADD_FAILURE() << failure;
      if (everything()) std::printf("%s\n", arm.summary().c_str());
      rows += arm.rows();
      kv_rows += arm.kv_rows();
      if (arm.how() == drafting::lookup) looked_up += arm.accepted();
    }
    EXPECT_GT(looked_up, 0);
    EXPECT_GT(seen.prefix_hits, 0U);
    if (!lonely) {
      EXPECT_GT(seen.preemptions, 0U);
    }
    std::printf(
        "%s, %s: %ld logits rows and %ld KV rows equal those of classic "
        "decoding; %lu tokens from the prefix cache, %lu preemptions\n",
        sampled() ? "sampled" : "greedy", lonely ? "alone" : "among others",
        static_cast<long>(rows), static_cast<long>(kv_rows),
        static_cast<unsigned long>(seen.prefix_hits),
        static_cast<unsigned long>(seen.preemptions));
  }

  std::shared_ptr<engine::model> weights;
  std::vector<engine::token_id> eos;
  engine::token_id vocabulary = 0;
  std::vector<parity_prompt> prompts;
  std::int64_t budget = 0;
  std::map<std::size_t, engine::token_id> stops;
  std::vector<parity_text> classic;
  /// Prompts with their classic texts, past their ends.
  std::vector<std::vector<engine::token_id>> known;
};

TEST(parity_corpus, IsWhatTheSuiteNeeds) {
  const auto path = cached(real_checkpoint);
  VOUCH_REQUIRE_CACHED(path);
  const auto prompts = load_parity_prompts(fixture("parity/prompts.txt"),
                                           *engine::load_tokenizer(path));
  std::set<std::string> kinds;
  std::set<std::string> names;
  std::set<std::size_t> lengths;
  for (const auto& each : prompts) {
    kinds.insert(each.kind);
    names.insert(each.name);
    lengths.insert(each.tokens.size());
  }
  EXPECT_GE(prompts.size(), 24U);
  EXPECT_EQ(names.size(), prompts.size());
  EXPECT_EQ(kinds, (std::set<std::string>{"chat", "code", "language", "prose",
                                          "repetition"}));
  EXPECT_EQ(*lengths.begin(), 1U);
  EXPECT_EQ(*lengths.rbegin(), 3000U);
}

TEST_P(parity, EqualsClassicDecoding) {
  EXPECT_GE(stops.size(), 4U);
  parity_run_options alone;
  alone.widths = engine::width_set::up_to(16);
  run_arms(plan(2), {alone});

  // Among others: a roomy pool, a small one in which sequences are preempted,
  // and a cold one with no widths but those of the arms.
  parity_run_options roomy = alone;
  roomy.at_once = 32;
  parity_run_options small = roomy;
  small.blocks = 36;
  small.chunk = 48;
  small.steps_in_flight = 2;
  parity_run_options cold = roomy;
  cold.at_once = 8;
  cold.apart = 1;
  cold.prefix_cache = false;
  cold.chunk = 100;
  cold.widths = {2, 3, 4, 6, 8, 16};
  run_arms(plan(3), {roomy, small, cold});
}

INSTANTIATE_TEST_SUITE_P(, parity, testing::Bool(), [](const auto& info) {
  return info.param ? std::string{"Sampled"} : std::string{"Greedy"};
});

}  // namespace
}  // namespace vouch::test
