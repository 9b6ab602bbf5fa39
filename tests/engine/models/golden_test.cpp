// Tiny random Llama checkpoints against the logits that transformers computes
// for them (tools/golden/make_llama.py, make_mistral.py).

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/dequantized.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "tests/engine/models/model_runner.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

using engine::token_id;
using test::compare;
using test::model_runner;

constexpr const char* golden = "llama_golden/";
// transformers' own float32 rounding reaches 7e-5 against exact arithmetic at
// this spread of weights; real errors are 0.4 and more.
constexpr double tolerance = 1e-3;

std::filesystem::path golden_file(const std::string& name) {
  return test::fixture(golden + name);
}

std::vector<token_id> golden_tokens() {
  const auto text =
      "{\"tokens\":" + test::read_file(golden_file("tokens.json")) + "}";
  std::vector<token_id> result;
  for (const auto id :
       engine::json_object::parse("tokens.json", text).integers("tokens")) {
    result.push_back(static_cast<token_id>(id));
  }
  return result;
}

std::vector<float> floats_of(const std::filesystem::path& file) {
  const auto bytes = test::read_file(file);
  std::vector<float> result(bytes.size() / sizeof(float));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(float));
  return result;
}

std::vector<float> golden_logits(const std::string& name) {
  return floats_of(golden_file(name + ".logits.f32"));
}

/// Prefill whole, in two chunks, and one by one: each close to the reference,
/// and all equal in bytes.
void expect_close(const engine::checkpoint& source,
                  const std::vector<float>& reference,
                  const std::string& name) {
  kernels::thread_pool pool{2};
  const auto tokens = golden_tokens();
  ASSERT_EQ(tokens.size(), 40U);
  model_runner runner{source, pool, 64};
  const auto whole = runner.run(tokens, tokens.size());
  const auto distance = compare(whole, reference);
  EXPECT_LT(distance.max, tolerance) << name;
  EXPECT_EQ(runner.run(tokens, 23), whole) << name << ", two chunks";
  EXPECT_EQ(runner.run(tokens, 1), whole) << name << ", one by one";
}

void expect_golden(const engine::checkpoint& source, const std::string& name) {
  expect_close(source, golden_logits(name), name);
}

/// A folder of `config`'s configuration with the weights of "default".
test::temporary_folder with_config(const std::filesystem::path& config) {
  test::temporary_folder folder;
  std::filesystem::copy_file(config, folder.path() / "config.json");
  std::filesystem::create_symlink(golden_file("default/model.safetensors"),
                                  folder.path() / "model.safetensors");
  return folder;
}

TEST(Golden, TiedDefaultRope) {
  expect_golden(*engine::open_checkpoint(golden_file("default")), "default");
}

TEST(Golden, UntiedWithBiasesSharded) {
  const auto source = engine::open_checkpoint(golden_file("untied_bias"));
  EXPECT_TRUE(source->config().attention_bias);
  EXPECT_TRUE(source->config().mlp_bias);
  EXPECT_FALSE(source->config().tied_head);
  expect_golden(*source, "untied_bias");
}

TEST(Golden, RopeScaling) {
  for (const std::string name : {"linear", "llama3", "yarn"}) {
    const auto folder = with_config(golden_file(name + "/config.json"));
    expect_golden(*engine::open_checkpoint(folder.path()), name);
  }
}

/// Nemo's shape: the heads together are narrower than the hidden size.
TEST(Golden, MistralWithoutAWindow) {
  const auto source = engine::open_checkpoint(test::fixture("mistral_golden"));
  EXPECT_EQ(source->config().family, "mistral");
  EXPECT_EQ(source->config().heads * source->config().head_dim, 64);
  EXPECT_EQ(source->config().hidden_size, 80);
  expect_close(*source, floats_of(test::fixture("mistral_golden/logits.f32")),
               "mistral");
}

TEST(Golden, OlderConfigurationFields) {
  const test::temporary_folder folder;
  std::filesystem::create_symlink(golden_file("default/model.safetensors"),
                                  folder.path() / "model.safetensors");
  folder.write("config.json", R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "torch_dtype": "float32", "vocab_size": 256, "hidden_size": 96,
    "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6,
    "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "hidden_act": "silu",
    "rope_scaling": {"type": "linear", "factor": 4.0},
    "tie_word_embeddings": true, "pretraining_tp": 1, "use_cache": true,
    "initializer_range": 0.02, "bos_token_id": 1, "eos_token_id": 2})");
  expect_golden(*engine::open_checkpoint(folder.path()), "linear");
}

TEST(Golden, GgufEqualsSafetensorsInBytes) {
  kernels::thread_pool pool{2};
  const auto tokens = golden_tokens();
  for (const auto& [gguf, folder] :
       {std::pair{"f32.gguf", "default"},
        std::pair{"untied_bias.gguf", "untied_bias"}}) {
    const auto one = engine::open_checkpoint(golden_file(gguf));
    const auto other = engine::open_checkpoint(golden_file(folder));
    model_runner a{*one, pool, 64};
    model_runner b{*other, pool, 64};
    EXPECT_EQ(a.run(tokens, 40), b.run(tokens, 40)) << gguf;
  }
}

TEST(Golden, GgufFloats) {
  expect_golden(*engine::open_checkpoint(golden_file("f32.gguf")), "default");
  expect_golden(*engine::open_checkpoint(golden_file("untied_bias.gguf")),
                "untied_bias");
  expect_golden(*engine::open_checkpoint(golden_file("f16.gguf")), "f16");
}

TEST(Golden, GgufRopeFrequencyTensor) {
  const auto source = engine::open_checkpoint(golden_file("llama3.gguf"));
  EXPECT_EQ(source->config().rope_frequency_divisors.size(), 8U);
  expect_golden(*source, "llama3");
}

class GoldenQuantized : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenQuantized, DequantizedWeightsGiveTheReference) {
  const std::string name = GetParam();
  const auto source = engine::open_checkpoint(golden_file(name + ".gguf"));
  expect_golden(*engine::dequantize(source), name);
}

TEST_P(GoldenQuantized, StaysNearTheReference) {
  const std::string name = GetParam();
  const auto source = engine::open_checkpoint(golden_file(name + ".gguf"));
  kernels::thread_pool pool{2};
  const auto tokens = golden_tokens();
  model_runner runner{*source, pool, 64};
  const auto whole = runner.run(tokens, tokens.size());
  const auto distance = compare(whole, golden_logits(name));
  // Activations are rounded to 8 bits, about 0.5% of their spread; two layers
  // of large random weights make it 0.04 on average and 0.45 at most, on logits
  // of about 1.6 (deviation) and 6 (largest).
  EXPECT_LT(distance.max, 0.8) << name;
  EXPECT_LT(distance.mean, 0.06) << name;
  EXPECT_EQ(runner.run(tokens, 23), whole) << "two chunks";
  EXPECT_EQ(runner.run(tokens, 1), whole) << "one by one";
}

INSTANTIATE_TEST_SUITE_P(Types, GoldenQuantized,
                         ::testing::Values("q8_0", "q4_0", "q4_1", "q5_0",
                                           "q5_1", "q4_k", "q5_k", "q6_k"),
                         [](const auto& info) {
                           return std::string{info.param};
                         });

TEST(Golden, OnlyTheNamedRowsGetLogits) {
  kernels::thread_pool pool{2};
  const auto source = engine::open_checkpoint(golden_file("default"));
  const auto tokens = golden_tokens();
  model_runner runner{*source, pool, 64};
  const auto whole = runner.run(tokens, 40);

  const auto model = engine::load_model(*source, pool);
  const auto& config = model->config();
  engine::kv_memory kv;
  kv.layout = {config.kv_heads, config.head_dim, kernels::dtype::f32};
  kv.blocks = 3;
  std::vector<std::byte> memory(2 * 3 * kv.layout.block_bytes());
  kv.base = memory.data();
  const std::vector<std::int32_t> table{2, 0, 1};
  std::vector<std::int32_t> positions(40);
  std::iota(positions.begin(), positions.end(), 0);
  const kernels::attention_rows sequence{table.data(), 0, 40, 0};
  const std::vector<std::int32_t> rows{3, 17, 39};
  std::vector<float> logits(3 * 256 + 1, -77.0F);
  model->forward({tokens, positions, {&sequence, 1}, rows}, kv, logits.data(),
                 pool);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(0, std::memcmp(logits.data() + i * 256,
                             whole.data() + rows[i] * 256, 1024))
        << rows[i];
  }
  EXPECT_EQ(logits.back(), -77.0F);
}

TEST(Golden, ServableFixtureLoads) {
  kernels::thread_pool pool{2};
  const auto folder = engine::open_checkpoint(test::fixture("llama_tiny"));
  const auto gguf = engine::open_checkpoint(test::fixture("llama_tiny.gguf"));
  double progress = -1;
  const auto model = engine::load_model(*folder, pool, [&](double share) {
    EXPECT_GT(share, progress);
    progress = share;
  });
  EXPECT_EQ(progress, 1.0);
  EXPECT_GT(model->weight_bytes(), 0U);
  const std::vector<token_id> tokens{1, 87, 85, 263, 201, 297, 319};
  model_runner a{*folder, pool, 16};
  model_runner b{*gguf, pool, 16};
  // The same weights in BF16 and in Q8_0.
  EXPECT_LT(compare(a.run(tokens, 7), b.run(tokens, 7)).max, 0.5);
}

}  // namespace
}  // namespace vouch
