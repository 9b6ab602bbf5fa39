#include "engine/checkpoint/checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/checkpoint/dequantized.hpp"
#include "engine/models/model.hpp"
#include "tests/engine/checkpoint/safetensors_bytes.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

using engine::open_checkpoint;
using engine::token_id;
using test::expect_input_error;
using ids = std::vector<token_id>;

/// A writable copy of the tiny model's folder.
class CheckpointFolder : public ::testing::Test {
 protected:
  CheckpointFolder() {
    for (const auto& entry :
         std::filesystem::directory_iterator{test::fixture("llama_tiny")}) {
      folder_.write(entry.path().filename().string(),
                    test::read_file(entry.path()));
    }
  }
  std::filesystem::path path() const { return folder_.path(); }
  std::shared_ptr<engine::checkpoint> open() const {
    return open_checkpoint(path());
  }
  void remove(const std::string& name) const {
    std::filesystem::remove(path() / name);
  }
  void expect_error(const std::vector<std::string>& parts) const {
    expect_input_error([&] { open(); }, parts);
  }
  /// Replaces a part of a file's text.
  void edit(const std::string& name, const std::string& from,
            const std::string& to) const {
    auto text = test::read_file(path() / name);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    folder_.write(name, text.replace(at, from.size(), to));
  }

  test::temporary_folder folder_;
};

TEST_F(CheckpointFolder, ReadsTheTinyModel) {
  const auto source = open();
  EXPECT_EQ(source->container(), "safetensors");
  const auto& config = source->config();
  EXPECT_EQ(config.family, "llama");
  EXPECT_EQ(config.vocab_size, 320);
  EXPECT_EQ(config.hidden_size, 64);
  EXPECT_EQ(config.intermediate_size, 128);
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.max_position, 512);
  EXPECT_FLOAT_EQ(config.rms_norm_eps, 1e-5F);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(source->eos_tokens(), (ids{0, 2}));
  EXPECT_EQ(source->tensors().size(), 20U);
  EXPECT_NE(source->chat_template().find("<|im_start|>"), std::string::npos);
  EXPECT_EQ(source->default_name(), path().filename().string());
  EXPECT_EQ(open_checkpoint(path() / "")->default_name(),
            path().filename().string());
  const auto& tensor =
      source->require("model.layers.1.self_attn.k_proj.weight", {32, 64});
  EXPECT_EQ(tensor.type, kernels::dtype::bf16);
  expect_input_error([&] { source->require("model.norm.weight", {65}); },
                     {"model.norm.weight", "[64]", "[65]"});
  expect_input_error([&] { source->require("nothing", {1}); },
                     {"'nothing'", "missing"});
}

TEST_F(CheckpointFolder, EosIsTheUnionOfAllFiles) {
  edit("config.json", "\"eos_token_id\": 2", "\"eos_token_id\": [5, 6]");
  edit("generation_config.json", "[\n    2,\n    0\n  ]", "7");
  EXPECT_EQ(open()->eos_tokens(), (ids{2, 5, 6, 7}));
  edit("tokenizer_config.json", "\"eos_token\": \"<|im_end|>\"",
       "\"eos_token\": {\"content\": \"<|endoftext|>\"}");
  EXPECT_EQ(open()->eos_tokens(), (ids{0, 5, 6, 7}));
  remove("generation_config.json");
  remove("tokenizer_config.json");
  EXPECT_EQ(open()->eos_tokens(), (ids{5, 6}));
  edit("config.json", "[5, 6]", "null");
  EXPECT_EQ(open()->eos_tokens(), ids{});
  edit("config.json", "\"eos_token_id\": null", "\"eos_token_id\": 320");
  expect_error({"config.json", "eos_token_id", "320"});
}

TEST_F(CheckpointFolder, GenerationDefaults) {
  folder_.write("generation_config.json",
                R"({"temperature": 0.6, "top_p": 0.9, "top_k": 20,
                    "min_p": 0.1, "repetition_penalty": 1})");
  const auto source = open();
  EXPECT_EQ(source->defaults().temperature, 0.6);
  EXPECT_EQ(source->defaults().top_p, 0.9);
  EXPECT_EQ(source->defaults().top_k, 20);
  EXPECT_EQ(source->defaults().min_p, 0.1);
  EXPECT_EQ(source->defaults().repetition_penalty, 1.0);
  folder_.write("generation_config.json", R"({"temperature": "hot"})");
  expect_error({"generation_config.json", "'temperature'", "not a number"});
}

TEST_F(CheckpointFolder, ChatTemplateSources) {
  folder_.write("tokenizer_config.json",
                R"({"chat_template": [{"name": "tool_use", "template": "T"},
                                      {"name": "default", "template": "D"}]})");
  EXPECT_EQ(open()->chat_template(), "D");
  folder_.write("chat_template.jinja", "own\n");
  EXPECT_EQ(open()->chat_template(), "own\n");
  remove("chat_template.jinja");
  folder_.write("tokenizer_config.json", R"({"chat_template": []})");
  expect_error({"tokenizer_config.json", "chat_template", "default"});
  folder_.write("tokenizer_config.json", "{}");
  EXPECT_EQ(open()->chat_template(), "");
}

TEST_F(CheckpointFolder, FingerprintSeesWeightsAndConfiguration) {
  const auto first = open()->fingerprint();
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(open()->fingerprint(), first);
  auto bytes = test::read_file(path() / "model.safetensors");
  bytes[bytes.size() - 3] ^= 1;
  folder_.write("model.safetensors", bytes);
  const auto second = open()->fingerprint();
  EXPECT_NE(second, first);
  edit("config.json", "10000.0", "20000.0");
  EXPECT_NE(open()->fingerprint(), second);
}

TEST_F(CheckpointFolder, MissingFiles) {
  remove("model.safetensors");
  expect_error({"model.safetensors", "index.json"});
  remove("config.json");
  expect_error({"config.json", "cannot be opened"});
  expect_input_error([&] { open_checkpoint(path() / "nowhere"); },
                     {"nowhere", "does not exist"});
  const auto lone =
      folder_.write("lone.safetensors", test::safetensors_bytes("{}", 0));
  expect_input_error([&] { open_checkpoint(lone); },
                     {"lone.safetensors", "name the folder"});
}

TEST_F(CheckpointFolder, Index) {
  std::filesystem::rename(path() / "model.safetensors",
                          path() / "part.safetensors");
  const auto index = [&](const std::string& map) {
    folder_.write("model.safetensors.index.json",
                  "{\"weight_map\": " + map + "}");
  };
  index(R"({"model.norm.weight": "part.safetensors"})");
  EXPECT_EQ(open()->tensors().size(), 1U);
  index(R"({"model.norm.weight": "gone.safetensors"})");
  expect_error({"gone.safetensors", "cannot be opened"});
  index(R"({"other": "part.safetensors"})");
  expect_error({"index.json", "other", "does not hold that tensor"});
  index(R"({"model.norm.weight": "../part.safetensors"})");
  expect_error({"index.json", "no plain file name"});
  index(R"({"model.norm.weight": 3})");
  expect_error({"index.json", "not a string"});
  index("null");
  expect_error({"index.json", "weight_map", "missing"});
}

TEST_F(CheckpointFolder, UnsupportedTensorTypeAndMissingTensor) {
  folder_.write(
      "model.safetensors",
      test::safetensors_bytes(
          R"({"q":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1));
  expect_error({"model.safetensors", "'q'", "F8_E4M3", "not supported"});
  folder_.write(
      "model.safetensors",
      test::safetensors_bytes(R"({"model.rotary_emb.inv_freq":{"dtype":"I64",)"
                              R"("shape":[1],"data_offsets":[0,8]}})",
                              8));
  const auto source = open();
  EXPECT_TRUE(source->tensors().empty());
  kernels::thread_pool pool{1};
  expect_input_error([&] { engine::load_model(*source, pool); },
                     {"model.embed_tokens.weight", "missing"});
}

struct change {
  const char* from;
  const char* to;
  std::vector<std::string> error;
};

TEST_F(CheckpointFolder, RefusesConfigurations) {
  const auto original = test::read_file(path() / "config.json");
  const std::vector<change> changes{
      {"\"llama\"", "\"qwen3\"", {"model_type", "'qwen3'", "not supported"}},
      {"\"model_type\"", "\"x\"", {"model_type", "missing"}},
      {"LlamaForCausalLM", "LlamaForX", {"architectures", "'LlamaForX'"}},
      {"\"silu\"", "\"gelu\"", {"hidden_act", "'gelu'"}},
      {"\"use_cache\": true",
       "\"quantization_config\": {}",
       {"quantization_config"}},
      {"\"use_cache\": true", "\"quantization\": {}", {"quantization"}},
      {"\"rope_type\": \"default\"",
       "\"rope_type\": \"dynamic\"",
       {"rope_parameters.rope_type", "'dynamic'"}},
      {"\"rope_type\": \"default\"",
       "\"type\": \"longrope\"",
       {"rope_parameters.type", "'longrope'"}},
      {"\"rope_type\": \"default\"",
       "\"rope_type\": \"linear\"",
       {"rope_parameters.factor", "missing"}},
      {"\"rope_type\": \"default\"",
       "\"rope_type\": \"linear\", \"factor\": 0",
       {"factor", "positive"}},
      {"\"rope_type\": \"default\"",
       "\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, "
       "\"high_freq_factor\": 1",
       {"low_freq_factor < high_freq_factor"}},
      {"\"rope_type\": \"default\"",
       "\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5",
       {"partial_rotary_factor"}},
      {"\"vocab_size\": 320", "\"vocab_size\": 0", {"vocab_size", "is 0"}},
      {"\"vocab_size\": 320",
       "\"vocab_size\": 1e300",
       {"vocab_size", "not an integer"}},
      {"\"vocab_size\": 320",
       "\"vocab_size\": 9223372036854775807",
       {"vocab_size", "not within"}},
      {"\"num_hidden_layers\": 2",
       "\"num_hidden_layers\": -1",
       {"num_hidden_layers", "-1"}},
      {"\"num_key_value_heads\": 2",
       "\"num_key_value_heads\": 3",
       {"no multiple of 3"}},
      {"\"head_dim\": 16", "\"head_dim\": 15", {"not even"}},
      {"\"head_dim\": 16",
       "\"num_attention_heads\": 3",
       {"hidden_size", "no multiple"}},
      {"1e-05", "-1", {"epsilon"}},
      {"\"attention_bias\": false",
       "\"attention_bias\": \"no\"",
       {"attention_bias", "true or false"}},
      {"{", "[", {"not valid JSON"}},
  };
  for (const auto& [from, to, error] : changes) {
    folder_.write("config.json", original);
    if (std::string{from}.find("head_dim") != std::string::npos &&
        std::string{to}.find("num_attention_heads") != std::string::npos) {
      edit("config.json", "\"num_attention_heads\": 4,", "");
    }
    edit("config.json", from, to);
    auto parts = error;
    parts.emplace_back("config.json");
    expect_error(parts);
  }
}

TEST_F(CheckpointFolder, MisshapenTensorsAreNamed) {
  edit("config.json", "\"intermediate_size\": 128",
       "\"intermediate_size\": 64");
  const auto source = open();
  kernels::thread_pool pool{1};
  expect_input_error(
      [&] { engine::load_model(*source, pool); },
      {"model.layers.0.mlp.gate_proj.weight", "[128, 64]", "[64, 64]"});
  folder_.write("config.json",
                test::read_file(test::fixture("llama_tiny/config.json")));
  edit("config.json", "\"tie_word_embeddings\": true",
       "\"tie_word_embeddings\": false");
  const auto untied = open();
  expect_input_error([&] { engine::load_model(*untied, pool); },
                     {"lm_head.weight", "missing"});
}

TEST(Checkpoint, DequantizedHoldsTheSameValues) {
  const auto source = open_checkpoint(test::fixture("llama_tiny"));
  const auto wide = engine::dequantize(source);
  EXPECT_EQ(wide->tensors().size(), source->tensors().size());
  EXPECT_EQ(wide->fingerprint(), source->fingerprint());
  const auto& narrow = *source->find("model.norm.weight");
  const auto& floats = wide->require("model.norm.weight", narrow.shape);
  EXPECT_EQ(floats.type, kernels::dtype::f32);
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint16_t half = 0;
    std::uint32_t full = 0;
    std::memcpy(&half, narrow.data + 2 * i, 2);
    std::memcpy(&full, floats.data + 4 * i, 4);
    EXPECT_EQ(full, std::uint32_t{half} << 16U);
  }
}

}  // namespace
}  // namespace vouch
