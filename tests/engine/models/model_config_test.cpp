// Rotary frequencies against transformers 5.24 (modeling_rope_utils), whose
// results are written out here.

#include "engine/models/model_config.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/config_json.hpp"
#include "tests/support/expect_input_error.hpp"

namespace vouch {
namespace {

engine::model_config read(const std::string& rope, int head_dim,
                          int positions) {
  return engine::read_config(engine::json_object::parse(
      "config.json", "{\"model_type\": \"llama\", \"hidden_size\": " +
                         std::to_string(2 * head_dim) +
                         ", \"num_attention_heads\": 2, "
                         "\"max_position_embeddings\": " +
                         std::to_string(positions) + ", " + rope + "}"));
}

void expect(const engine::model_config& config, double factor,
            const std::vector<float>& frequencies) {
  EXPECT_NEAR(config.rope_attention_factor(), factor, 1e-6);
  const auto actual = config.inverse_frequencies();
  ASSERT_EQ(actual.size(), frequencies.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i] / frequencies[i], 1.0, 1e-6) << i;
  }
}

TEST(ModelConfig, Linear) {
  const std::vector<float> frequencies{
      0.125F,   0.03952847F,   0.0125F,   0.003952847F,
      0.00125F, 0.0003952847F, 0.000125F, 3.952847e-05F};
  expect(read(R"("rope_parameters": {"rope_type": "linear", "factor": 8.0,
                  "rope_theta": 10000.0})",
              16, 512),
         1.0, frequencies);
  expect(read(R"("rope_theta": 10000, "rope_scaling": {"type": "linear",
                  "factor": 8})",
              16, 512),
         1.0, frequencies);
}

TEST(ModelConfig, Llama3) {
  expect(read(R"("rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3",
                  "factor": 32.0, "low_freq_factor": 1.0,
                  "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8192})",
              32, 131072),
         1.0,
         {1.0F, 0.4403666F, 0.1939228F, 0.0853971F, 0.03760603F, 0.01656044F,
          0.007292665F, 0.003211446F, 0.0004295567F, 1.946164e-05F,
          8.570256e-06F, 3.774054e-06F, 1.661967e-06F, 7.318749e-07F,
          3.222933e-07F, 1.419272e-07F});
}

TEST(ModelConfig, Yarn) {
  const std::vector<float> plain{1.0F,          0.1111425F,   0.007905695F,
                                 0.001405853F,  0.00025F,     4.445699e-05F,
                                 7.905694e-06F, 1.405853e-06F};
  expect(read(R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6,
                  "factor": 4.0, "original_max_position_embeddings": 128})",
              16, 512),
         1.138629436, plain);
  // Without a factor it is the ratio of the two lengths.
  expect(read(R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6,
                  "factor": null, "original_max_position_embeddings": 128})",
              16, 512),
         1.138629436, plain);
  expect(read(R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4,
                  "factor": 40.0, "original_max_position_embeddings": 64,
                  "mscale": 1.0, "mscale_all_dim": 0.707, "beta_fast": 16,
                  "beta_slow": 2})",
              16, 512),
         1.085726399,
         {1.0F, 0.1620667F, 0.0025F, 0.0007905695F, 0.00025F, 7.905695e-05F,
          2.5e-05F, 7.905694e-06F});
  expect(read(R"("rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4,
                  "factor": 2.0, "original_max_position_embeddings": 256,
                  "attention_factor": 1.25, "truncate": false})",
              16, 512),
         1.25,
         {1.0F, 0.2747241F, 0.07026576F, 0.01696756F, 0.005F, 0.001581139F,
          0.0005F, 0.0001581139F});
}

engine::model_config read_mistral(const std::string& fields) {
  return engine::read_config(engine::json_object::parse(
      "config.json", "{\"model_type\": \"mistral\"" + fields + "}"));
}

TEST(ModelConfig, MistralIsALlamaWithoutAWindow) {
  // Nemo: head_dim is not hidden_size / heads.
  const auto nemo = read_mistral(
      R"(, "architectures": ["MistralForCausalLM"], "hidden_size": 5120,
           "head_dim": 128, "num_attention_heads": 32,
           "num_key_value_heads": 8, "sliding_window": null,
           "max_position_embeddings": 131072, "rope_theta": 1000000.0,
           "attention_bias": true)");
  EXPECT_EQ(nemo.family, "mistral");
  EXPECT_EQ(nemo.head_dim, 128);
  EXPECT_EQ(nemo.kv_heads, 8);
  EXPECT_FALSE(nemo.attention_bias);
  // What MistralConfig takes for fields that are absent.
  const auto bare = read_mistral(R"(, "sliding_window": null)");
  EXPECT_EQ(bare.kv_heads, 8);
  EXPECT_EQ(bare.intermediate_size, 14336);
  EXPECT_EQ(bare.max_position, 131072);
  EXPECT_FALSE(bare.tied_head);
  // A window that no position leaves.
  EXPECT_EQ(read_mistral(R"(, "max_position_embeddings": 4096)").max_position,
            4096);
  read_mistral(R"(, "max_position_embeddings": 512, "sliding_window": 512)");
}

TEST(ModelConfig, MistralWithAWindowIsRefused) {
  test::expect_input_error(
      [] { read_mistral(R"(, "sliding_window": 4096)"); },
      {"config.json: field 'sliding_window' is 4096", "131072", "null"});
  test::expect_input_error([] { read_mistral(""); },
                           {"'sliding_window' is missing", "4096"});
  test::expect_input_error(
      [] {
        read_mistral(R"(, "sliding_window": 511,
                          "max_position_embeddings": 512)");
      },
      {"is 511", "512 tokens"});
  test::expect_input_error(
      [] { read_mistral(R"(, "architectures": ["LlamaForCausalLM"])"); },
      {"'LlamaForCausalLM', not MistralForCausalLM"});
}

TEST(ModelConfig, DivisorsAndDefaults) {
  auto config = read("\"rope_scaling\": null", 4, 512);
  EXPECT_EQ(config.rope_theta, 10000.0);
  expect(config, 1.0, {1.0F, 0.01F});
  config.rope_frequency_divisors = {1.0F, 4.0F};
  expect(config, 1.0, {1.0F, 0.0025F});
  EXPECT_EQ(read("\"rope_theta\": 100", 4, 512).inverse_frequencies()[1], 0.1F);
}

}  // namespace
}  // namespace vouch
