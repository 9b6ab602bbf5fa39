// Which drafter a name or a path means, and every way in which it is declined.

#include "engine/drafters/load_drafter.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/drafters/same_vocabulary.hpp"
#include "tests/engine/drafters/drafting_world.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

using engine::decline_reason;
using engine::drafter_choice;
using engine::drafter_kind;
using engine::drafter_load;

class LoadDrafter : public ::testing::Test {
 protected:
  drafter_load load(drafter_choice choice,
                    const std::string& target = "dflash/target") {
    model_ = test::fixture_model(target);
    words_ = engine::tokenizer_of(test::fixture(target));
    return engine::load_drafter(choice, *model_, words_.get(), pool_);
  }
  drafter_load load(const std::string& name,
                    const std::string& target = "dflash/target") {
    drafter_choice choice;
    choice.name = name;
    return load(choice, target);
  }
  /// Declined as a mismatch, with these words in it.
  void expect_mismatch(const drafter_load& result, const std::string& words) {
    EXPECT_FALSE(result.loaded);
    EXPECT_FALSE(result.device);
    ASSERT_TRUE(result.declined);
    EXPECT_EQ(result.declined->reason, decline_reason::drafter_mismatch);
    EXPECT_NE(result.declined->detail.find(words), std::string::npos)
        << result.declined->detail;
  }
  void expect_device(const drafter_load& result, drafter_kind kind) {
    ASSERT_TRUE(result.device) << result.declined.value().detail;
    EXPECT_FALSE(result.loaded);
    EXPECT_FALSE(result.declined);
    EXPECT_EQ(result.device->kind(), kind);
    EXPECT_FALSE(result.description.empty());
    EXPECT_EQ(result.fingerprint.size(), 16U);
  }

  kernels::thread_pool pool_{1};
  std::shared_ptr<engine::model> model_;
  std::shared_ptr<const engine::tokenizer> words_;
  test::temporary_folder folder_;
};

std::string path_of(const std::string& name) {
  return test::fixture(name).string();
}

TEST_F(LoadDrafter, ByName) {
  const auto lookup = load("lookup");
  ASSERT_TRUE(lookup.loaded);
  EXPECT_EQ(lookup.loaded->kind(), drafter_kind::lookup);
  EXPECT_FALSE(lookup.device);
  EXPECT_FALSE(lookup.declined);
  for (const auto* none : {"", "none"}) {
    const auto result = load(none);
    EXPECT_FALSE(result.loaded);
    EXPECT_EQ(result.declined.value().reason, decline_reason::no_drafter);
  }
  expect_mismatch(load("lookupp"), "did you mean 'lookup'?");
  expect_mismatch(load("/no/such/drafter"), "/no/such/drafter");
}

TEST_F(LoadDrafter, DflashFromFolderAndGguf) {
  expect_device(load(path_of("dflash/full")), drafter_kind::dflash);
  const auto gguf = load(path_of("dflash/full.gguf"));
  expect_device(gguf, drafter_kind::dflash);
  EXPECT_EQ(gguf.device->taps().size(), 2U);
  EXPECT_EQ(gguf.device->max_width(), 8);
}

TEST_F(LoadDrafter, DraftModelFromFolderAndGguf) {
  const auto other = load(path_of("mistral_golden"), "llama_golden/default");
  expect_device(other, drafter_kind::model);
  EXPECT_TRUE(other.device->taps().empty());
  expect_device(load(path_of("llama_golden/q4_0.gguf"), "llama_golden/default"),
                drafter_kind::model);
  // The target itself is the same vocabulary, token by token.
  expect_device(load(path_of("llama_tiny"), "llama_tiny"), drafter_kind::model);
  expect_device(load(path_of("llama_tiny.gguf"), "llama_tiny"),
                drafter_kind::model);
}

TEST_F(LoadDrafter, DflashThatDoesNotFit) {
  expect_mismatch(load(path_of("dflash/full"), "llama_golden/default"),
                  "wrong_shape: ");
  auto folder = test::dflash_folder("full");
  auto text = test::read_file(folder.path() / "config.json");
  const auto with = [&](const std::string& old, const std::string& other) {
    auto changed = text;
    changed.replace(changed.find(old), old.size(), other);
    folder.write("config.json", changed);
    return load(folder.path().string());
  };
  expect_mismatch(with("\"vocab_size\": 64", "\"vocab_size\": 65"),
                  "wrong_vocabulary: ");
  expect_mismatch(with("\"block_size\": 8",
                       "\"block_size\": 8, \"projector_type\": \"domino\""),
                  "unsupported_form: ");
  // Broken files are no different.
  expect_mismatch(with("\"block_size\": 8", "\"block_size\": \"eight\""),
                  "block_size");
  expect_mismatch(with("{", "["), "config.json");
  folder.write("config.json", text);
  std::filesystem::remove(folder.path() / "model.safetensors");
  folder.write("model.safetensors", "not so safe");
  expect_mismatch(load(folder.path().string()), "model.safetensors");
}

TEST_F(LoadDrafter, TargetsThatHandOutNoHiddenStates) {
  drafter_choice choice;
  choice.name = path_of("dflash/full");
  const test::fake_model target{64};
  expect_mismatch(engine::load_drafter(choice, target, nullptr, pool_),
                  "unsupported_target: ");
}

TEST_F(LoadDrafter, ModelsThatDoNotFit) {
  expect_mismatch(load(path_of("llama_golden/default")),
                  "its vocabulary's size is 256, the target's 64");
  // As many tokens, but others.
  std::filesystem::copy(test::fixture("llama_tiny"), folder_.path(),
                        std::filesystem::copy_options::recursive);
  auto text = test::read_file(folder_.path() / "tokenizer.json");
  const std::string old = "\"content\": \"<|im_end|>\"";
  ASSERT_NE(text.find(old), std::string::npos);
  const auto special = text.find("\"special\": true", text.find(old));
  folder_.write("tokenizer.json",
                std::string{text}.replace(special, 15, "\"special\": false"));
  expect_mismatch(load(folder_.path().string(), "llama_tiny"), "control token");
  folder_.write("tokenizer.json", "{");
  expect_mismatch(load(folder_.path().string(), "llama_tiny"),
                  "tokenizer.json");
  // Without a tokenizer the size has to do.
  std::filesystem::remove(folder_.path() / "tokenizer.json");
  expect_device(load(folder_.path().string(), "llama_tiny"),
                drafter_kind::model);
}

TEST_F(LoadDrafter, FilesOfNoUse) {
  expect_mismatch(load(folder_.path().string()), "config.json");
  folder_.write("config.json",
                R"({"model_type": "mamba", "architectures": ["Mamba"]})");
  expect_mismatch(load(folder_.path().string()), "mamba");
  expect_mismatch(load(folder_.write("x.gguf", "GGUFnot").string()), "x.gguf");
  expect_mismatch(load(path_of("smollm2/prompts.json")), "prompts.json");
  drafter_choice small;
  small.name = path_of("mistral_golden");
  small.context_bytes = 1;
  expect_mismatch(load(small, "llama_golden/default"), "KV cache");
}

TEST_F(LoadDrafter, Scripts) {
  const auto file = folder_.write("texts.jsonl",
                                  "{\"tokens\": [1, 2, 3, 4, 5, 6]}\n\n"
                                  "{\"tokens\": [1, 2, 9, 8, 7]}\n");
  for (const auto* script :
       {"right@", "wrong@", "alternating@", "p=0.8,0.7@"}) {
    const auto result = load(std::string{"scripted:"} + script + file.string());
    ASSERT_TRUE(result.loaded) << result.declined.value().detail;
    EXPECT_EQ(result.loaded->kind(), drafter_kind::scripted);
  }
  const auto right = load("scripted:right@" + file.string());
  const std::vector<engine::token_id> history{1, 2, 9};
  EXPECT_EQ(right.loaded->open()->propose(history, 4).tokens,
            (std::vector<engine::token_id>{8, 7}));
  EXPECT_TRUE(load("scripted:random").loaded);
  EXPECT_TRUE(load("scripted:empty").loaded);
  expect_mismatch(load("scripted:right"), "must know the text");
  expect_mismatch(load("scripted:"), "is no script");
  expect_mismatch(load("scripted:p=0.8,2@" + file.string()), "2");
  expect_mismatch(load("scripted:p=@" + file.string()), "probability");
  expect_mismatch(load("scripted:right@/no/such"), "/no/such");
  for (const auto* bad :
       {"{\"tokens\": [1, 99]}", "{\"tokens\": []}", "{}", "[1]", ""}) {
    folder_.write("bad.jsonl", bad);
    expect_mismatch(
        load("scripted:right@" + (folder_.path() / "bad.jsonl").string()),
        "bad.jsonl");
  }
  drafter_choice choice;
  choice.name = "scripted:right";
  choice.oracle = [](auto) { return 5; };
  EXPECT_TRUE(load(choice).loaded);
}

TEST_F(LoadDrafter, ScriptsOverALiveDrafter) {
  const auto live = path_of("dflash/full");
  const auto result = load("scripted:random over " + live);
  expect_device(result, drafter_kind::scripted);
  EXPECT_EQ(result.device->taps().size(), 2U);
  expect_mismatch(load("scripted:random over /no/such"), "/no/such");
  expect_mismatch(load("scripted:what over " + live), "is no script");
}

}  // namespace
}  // namespace vouch
