#include <fstream>

#include <gtest/gtest.h>

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

TEST(Load, AContextBeyondTheModelsIsAnInputError) {
  host home;
  auto settings = serving(fixture("llama_tiny"));
  settings.engine.max_context = 1 << 30;
  runtime::runtime all{home.system, settings};
  EXPECT_THROW(all.wait_until_ready(), engine::input_error);
}

}  // namespace
}  // namespace vouch::test
