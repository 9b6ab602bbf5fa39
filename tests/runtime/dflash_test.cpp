// A live DFlash behind the actors: whatever is accepted, no text changes.

#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/speculation/transcript_check.hpp"
#include "tests/runtime/fixture.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::test {
namespace {

using engine::token_id;

/// The target of the DFlash fixtures has 64 tokens and no tokenizer: three
/// special ones, letters and what else is frequent; 63 is the drafters' mask.
std::string small_tokenizer() {
  const std::string letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:;-?!";
  std::string vocabulary =
      R"("<unk>": 0, "<s>": 1, "</s>": 2, "<mask>": 63, "Ġ": 3)";
  for (std::size_t i = 0; i < 59; ++i) {
    vocabulary +=
        std::string{", \""} + letters.at(i) + "\": " + std::to_string(4 + i);
  }
  std::string special;
  for (const auto* each : {"<unk>", "<s>", "</s>", "<mask>"}) {
    const std::string name = each;
    const int id = name == "<unk>"  ? 0
                   : name == "<s>"  ? 1
                   : name == "</s>" ? 2
                                    : 63;
    special += (special.empty() ? "" : ", ") + std::string{"{\"id\": "} +
               std::to_string(id) + ", \"content\": \"" + name +
               R"(", "single_word": false, "lstrip": false, "rstrip": false,
                   "normalized": false, "special": true})";
  }
  return R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [)" +
         special + R"(], "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false,
      "trim_offsets": true, "use_regex": true},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true,
      "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>",
      "continuing_subword_prefix": null, "end_of_word_suffix": null,
      "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
      "vocab": {)" +
         vocabulary + R"(}, "merges": []}})";
}

class LiveDflash : public testing::Test {
 protected:
  void SetUp() override {
    const auto target = fixture("dflash/target");
    for (const auto* name : {"config.json", "model.safetensors"}) {
      std::filesystem::copy(target / name, folder.path() / name);
    }
    folder.write("tokenizer.json", small_tokenizer());
    std::uint32_t state = 1;
    for (const std::size_t size : {1U, 17U, 40U, 100U, 100U}) {
      std::vector<token_id> prompt;
      while (prompt.size() < size) {
        state = state * 1664525U + 1013904223U;
        prompt.push_back(static_cast<token_id>(3 + (state >> 16U) % 59));
      }
      prompts.push_back(std::move(prompt));
    }
  }

  runtime::config with(const std::string& drafter) const {
    runtime::config settings;
    settings.model.path = folder.path().string();
    settings.engine.threads = 2;
    settings.engine.kv_blocks = 256;
    settings.engine.measure_costs = false;
    settings.policy.limits.step_tokens = 96;
    settings.speculation.drafter = drafter;
    settings.speculation.controller = "fixed";
    settings.speculation.verdict_dir = (folder.path() / "verdicts").string();
    settings.speculation.evidence_dir = "none";
    return settings;
  }

  actors::generation_request request(std::size_t index) const {
    actors::generation_request made =
        text_request("r" + std::to_string(index), "", index == 0 ? 80 : 120);
    made.kind = actors::prompt_kind::tokens;
    made.tokens = prompts.at(index);
    if (index % 2 == 1) {
      made.sampling.temperature = 0.8F;
      made.sampling.top_p = 0.95F;
      made.sampling.presence_penalty = 0.1F;
      made.has_seed = true;
      made.sampling.seed = 7 + index;
    }
    return made;
  }

  using texts = std::map<std::string, std::vector<token_id>>;
  struct outcome_of_all {
    texts said;
    engine::speculation_report sum;
    engine::gate_snapshot gate;
  };
  /// All requests together, after the gate has measured.
  outcome_of_all serve(runtime::config settings) {
    host home;
    const auto events = std::make_shared<transcript>();
    const bool drafts = settings.speculation.drafter != "none";
    runtime::runtime all{home.system, std::move(settings)};
    all.wait_until_ready();
    outcome_of_all out;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{4};
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      if (const auto now = all.speculation().gate) out.gate = *now;
    } while (drafts && (out.gate.id.empty() || out.gate.probing) &&
             std::chrono::steady_clock::now() < end);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      all.submit(request(i), spawn_client(home.system, events));
    }
    EXPECT_TRUE(events->wait_for_ends(prompts.size()));
    for (const auto& [id, seen] : events->all()) {
      EXPECT_FALSE(seen.failed) << seen.error.message;
      const auto& choice = seen.choices.at(0);
      out.said[id] = choice.ids();
      EXPECT_FALSE(choice.ids().empty());
      if (!choice.speculation) continue;
      out.sum.rounds += choice.speculation->rounds;
      out.sum.drafted += choice.speculation->drafted;
      out.sum.accepted += choice.speculation->accepted;
      EXPECT_EQ(choice.speculation->vouched, drafts) << id;
    }
    return out;
  }

  test::temporary_folder folder;
  std::vector<std::vector<token_id>> prompts;
};

TEST_F(LiveDflash, EveryAcceptCountMovesItsContextAndChangesNoText) {
  auto plain = with("none");
  plain.speculation.probe = "off";
  const auto classic = serve(plain);
  ASSERT_EQ(classic.said.size(), prompts.size());

  const auto oracle = folder.path() / "texts";
  std::ofstream out{oracle};
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    auto text = prompts[i];
    const auto& said = classic.said.at("r" + std::to_string(i));
    text.insert(text.end(), said.begin(), said.end());
    out << "{\"tokens\": [";
    for (std::size_t k = 0; k < text.size(); ++k) {
      out << (k == 0 ? "" : ", ") << text[k];
    }
    out << "]}\n";
  }
  out.close();

  std::set<int> accepted;
  const auto live = fixture("dflash/full").string();
  for (const auto* script :
       {"right", "wrong", "alternating", "p=0.8", "p=0.5", ""}) {
    SCOPED_TRACE(script);
    auto settings =
        with(*script == '\0' ? live
                             : std::string{"scripted:"} + script + "@" +
                                   oracle.string() + " over " + live);
    const auto file = folder.path() / (std::string{"rounds "} + script);
    settings.speculation.transcript = file.string();
    const auto burst = serve(settings);
    // The gate has drafted with the live drafter, and found nothing.
    EXPECT_EQ(burst.gate.verdict, "equal");
    for (int width = 2; width <= 8; ++width) {
      EXPECT_TRUE(burst.gate.verdicts.widths.at(width).equal())
          << width << ": " << describe(burst.gate.verdicts.widths.at(width));
    }
    EXPECT_EQ(burst.said, classic.said);
    EXPECT_GT(burst.sum.rounds, 10);
    const auto entries =
        engine::parse_transcript(file.string(), read_file(file));
    const auto checked = engine::check_transcript(entries);
    EXPECT_TRUE(checked.holds()) << checked.failures.front().detail;
    std::int64_t rounds = 0;
    for (const auto& entry : entries) {
      if (const auto* round =
              std::get_if<engine::transcript_round>(&entry.record)) {
        accepted.insert(static_cast<int>(round->accepted));
        ++rounds;
      }
    }
    EXPECT_EQ(rounds, burst.sum.rounds);
    EXPECT_EQ(burst.sum.accepted == 0, std::string{script} == "wrong");
  }
  EXPECT_EQ(accepted, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

}  // namespace
}  // namespace vouch::test
