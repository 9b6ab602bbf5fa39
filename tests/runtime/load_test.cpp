#include "runtime/load.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "engine/error.hpp"
#include "tests/runtime/fixture.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {
namespace {

runtime::config serving(const std::filesystem::path& model) {
  runtime::config settings;
  settings.model.path = model.string();
  settings.engine.threads = 2;
  settings.engine.kv_blocks = 64;
  settings.engine.kv_type = "f32";
  settings.policy.limits.step_tokens = 64;
  return settings;
}

std::vector<engine::token_id> generate(const std::filesystem::path& model,
                                       const std::string& id) {
  host home;
  const auto events = std::make_shared<transcript>();
  runtime::runtime all{home.system, serving(model)};
  all.wait_until_ready();
  EXPECT_EQ(all.load_share(), 1.0);
  EXPECT_EQ(all.model()->fingerprint.find("vouch-0."), 0U);
  all.submit(text_request(id, "Hello world", 12),
             spawn_client(home.system, events));
  const auto seen = events->wait(id);
  EXPECT_FALSE(seen.failed) << seen.error.message;
  EXPECT_EQ(seen.end.completion_tokens, 12);
  return seen.choices.at(0).ids();
}

TEST(Load, ServesATinyCheckpointFromBothContainers) {
  // Not the same ids: one holds bf16, the other Q8_0.
  for (const char* model : {"llama_tiny", "llama_tiny.gguf"}) {
    EXPECT_EQ(generate(fixture(model), "first"),
              generate(fixture(model), "second"))
        << model;
  }
}

TEST(Load, MeasuresWhatStepsCostAndServesTheSame) {
  std::vector<engine::token_id> texts[2];
  for (const bool measure : {false, true}) {
    host home;
    const auto events = std::make_shared<transcript>();
    auto settings = serving(fixture("llama_tiny"));
    settings.engine.measure_costs = measure;
    runtime::runtime all{home.system, settings};
    all.wait_until_ready();
    all.submit(text_request("a", "Hello world", 24),
               spawn_client(home.system, events));
    const auto seen = events->wait("a");
    EXPECT_FALSE(seen.failed) << seen.error.message;
    texts[measure ? 1 : 0] = seen.choices.at(0).ids();
    const std::string gauge =
        "vouch_step_seconds_model{logits=\"all\",rows=\"4\"} ";
    const auto shown = all.metrics();
    const auto place = shown.find(gauge);
    EXPECT_EQ(place != std::string::npos, measure);
    if (place != std::string::npos) {
      EXPECT_GT(std::stod(shown.substr(place + gauge.size())), 0.0);
    }
  }
  EXPECT_EQ(texts[0].size(), 24U);
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Load, ABadFileFailsWithItsName) {
  host home;
  const auto file = std::filesystem::path{testing::TempDir()} / "bad.gguf";
  std::ofstream{file} << "GGUX no model";
  const auto events = std::make_shared<transcript>();
  runtime::runtime all{home.system, serving(file)};
  try {
    all.wait_until_ready();
    FAIL() << "loaded";
  } catch (const engine::input_error& error) {
    EXPECT_NE(std::string{error.what()}.find("bad.gguf"), std::string::npos);
  }
  EXPECT_EQ(all.current_state(), runtime::state::failed);
  EXPECT_FALSE(all.healthy());
  all.submit(text_request("a", "x", 1), spawn_client(home.system, events));
  EXPECT_EQ(events->wait("a").error.kind, actors::failure::unavailable);
}

TEST(Load, WarnsOfATokenizerInDoubt) {
  std::ifstream in{fixture("llama_tiny.gguf"), std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{in}, {}};
  const std::string key = "tokenizer.ggml.pre";
  bytes.replace(bytes.find(key), key.size(), "tokenizer.ggml.prx");
  const auto file = std::filesystem::path{testing::TempDir()} / "doubt.gguf";
  std::ofstream{file, std::ios::binary} << bytes;

  std::ostringstream log;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  runtime::load_components(serving(file), [](double) {});
  sinks.pop_back();
  EXPECT_NE(log.str().find("doubt.gguf: tokenizer: "), std::string::npos)
      << log.str();
  EXPECT_NE(log.str().find(key), std::string::npos) << log.str();
}

TEST(Load, PlantedFaultsAreToldAndMarked) {
  std::ostringstream log;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  std::string texts[2];
  for (const bool faulty : {false, true}) {
    host home;
    const auto events = std::make_shared<transcript>();
    auto settings = serving(fixture("llama_tiny"));
    if (faulty) settings.test.faults = {"op=logits ulp=1000000000 element=7"};
    runtime::runtime all{home.system, settings};
    all.wait_until_ready();
    const auto fingerprint = all.model()->fingerprint;
    EXPECT_EQ(fingerprint.ends_with("-faults"), faulty) << fingerprint;
    all.submit(text_request("a", "Hello world", 12),
               spawn_client(home.system, events));
    texts[faulty ? 1 : 0] = events->wait("a").text(0);
  }
  sinks.pop_back();
  EXPECT_NE(log.str().find("planted faults make what is served wrong: "
                           "op=logits"),
            std::string::npos)
      << log.str();
  EXPECT_NE(texts[0], texts[1]);

  auto settings = serving(fixture("llama_tiny"));
  settings.test.faults = {"op=nothing"};
  EXPECT_THROW(runtime::load_components(settings, [](double) {}),
               engine::input_error);
}

TEST(Load, TheFastPlanWarnsAndSharesNoPrefix) {
  std::ostringstream log;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(log));
  std::string fingerprints[2];
  for (const bool fast : {false, true}) {
    host home;
    const auto events = std::make_shared<transcript>();
    auto settings = serving(fixture("llama_tiny.gguf"));
    if (fast) settings.kernels.plan = "fast";
    runtime::runtime all{home.system, settings};
    all.wait_until_ready();
    fingerprints[fast ? 1 : 0] = all.model()->fingerprint;
    EXPECT_EQ(all.metrics().find("plan fast") != std::string::npos, fast);
    EXPECT_EQ(log.str().find("kernels.plan = fast: text depends on load") !=
                  std::string::npos,
              fast)
        << log.str();
    // A policy that is reloaded does not turn it on either.
    for (const char* id : {"a", "b", "c"}) {
      const std::string words =
          "A prompt of more than sixteen tokens, so that whole blocks of it "
          "could be shared by the requests that come after it.";
      all.submit(text_request(id, words, 4), spawn_client(home.system, events));
      EXPECT_FALSE(events->wait(id).failed);
      all.set_policy(settings.policy, {});
    }
    EXPECT_EQ(all.stats().prefix_hits > 0U, !fast);
  }
  sinks.pop_back();
  EXPECT_NE(fingerprints[0], fingerprints[1]);
  EXPECT_NE(fingerprints[1].find("-fast-"), std::string::npos);
}

TEST(Load, AContextBeyondTheModelsIsAnInputError) {
  host home;
  auto settings = serving(fixture("llama_tiny"));
  settings.engine.max_context = 1 << 30;
  runtime::runtime all{home.system, settings};
  EXPECT_THROW(all.wait_until_ready(), engine::input_error);
}

}  // namespace
}  // namespace vouch::test
