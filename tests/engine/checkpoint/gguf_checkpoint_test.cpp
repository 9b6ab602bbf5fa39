#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "tests/engine/checkpoint/gguf_bytes.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

using engine::open_checkpoint;
using engine::token_id;
using test::expect_input_error;
using test::gguf_bytes;

TEST(GgufCheckpoint, NamesShapesAndRowsAreHuggingFaces) {
  for (const auto& [gguf, folder] :
       {std::pair{"llama_golden/f32.gguf", "llama_golden/default"},
        std::pair{"llama_golden/untied_bias.gguf",
                  "llama_golden/untied_bias"}}) {
    const auto one = open_checkpoint(test::fixture(gguf));
    const auto other = open_checkpoint(test::fixture(folder));
    EXPECT_EQ(one->container(), "gguf");
    EXPECT_EQ(one->tensors().size(), other->tensors().size());
    for (const auto& tensor : other->tensors()) {
      const auto& twin = one->require(tensor.name, tensor.shape);
      std::vector<std::byte> storage;
      const auto* rows = one->ordered_rows(twin, storage);
      // Vectors are F32 in GGUF even where the folder has BF16.
      if (twin.type != tensor.type) continue;
      ASSERT_EQ(twin.bytes, tensor.bytes);
      EXPECT_EQ(0, std::memcmp(rows, tensor.data, tensor.bytes)) << tensor.name;
    }
    const auto& a = one->config();
    const auto& b = other->config();
    EXPECT_EQ(a.vocab_size, b.vocab_size);
    EXPECT_EQ(a.max_position, b.max_position);
    EXPECT_EQ(a.attention_bias, b.attention_bias);
    EXPECT_EQ(a.mlp_bias, b.mlp_bias);
    EXPECT_EQ(a.tied_head, b.tied_head);
    EXPECT_EQ(a.inverse_frequencies(), b.inverse_frequencies());
  }
}

TEST(GgufCheckpoint, TextSide) {
  const auto source = open_checkpoint(test::fixture("llama_tiny.gguf"));
  const auto folder = open_checkpoint(test::fixture("llama_tiny"));
  EXPECT_EQ(source->chat_template(), folder->chat_template());
  EXPECT_EQ(source->eos_tokens(), std::vector<token_id>{2});
  EXPECT_EQ(source->default_name(), "llama_tiny");
  EXPECT_EQ(source->fingerprint().size(), 16U);
  EXPECT_NE(source->fingerprint(), folder->fingerprint());
}

using edit = std::function<void(gguf_bytes&)>;

/// A llama file of one small embedding; `more` adds pairs (`count` of them).
std::string file_with(std::uint64_t count, const edit& more,
                      std::uint32_t type = 0, const char* skip = "") {
  const std::vector<std::pair<std::string, std::uint32_t>> sizes{
      {"llama.context_length", 64},      {"llama.embedding_length", 32},
      {"llama.block_count", 1},          {"llama.feed_forward_length", 32},
      {"llama.attention.head_count", 2}, {"llama.attention.head_count_kv", 1}};
  std::uint64_t pairs = 2 + count;
  for (const auto& [key, value] : sizes) pairs += key != skip ? 1 : 0;
  gguf_bytes bytes{1, pairs};
  bytes.text("general.architecture", "llama");
  bytes.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  for (const auto& [key, value] : sizes) {
    if (key != skip) bytes.u32(key, value);
  }
  if (more) more(bytes);
  bytes.tensor("token_embd.weight", {32, 4}, type, 0).data(512);
  return bytes.bytes();
}

TEST(GgufCheckpoint, ReadsRopeScaling) {
  const test::temporary_folder folder;
  const auto config = [&](std::uint64_t count, const edit& more) {
    return open_checkpoint(folder.write("model.gguf", file_with(count, more)))
        ->config();
  };
  using kind = engine::rope_scaling::type;
  const auto plain = config(0, {});
  EXPECT_EQ(plain.rope_theta, 10000.0);
  EXPECT_EQ(plain.scaling.kind, kind::none);
  EXPECT_EQ(plain.head_dim, 16);
  EXPECT_EQ(plain.vocab_size, 4);
  const auto linear = config(3, [](gguf_bytes& bytes) {
    bytes.f32("llama.rope.freq_base", 5e5F)
        .text("llama.rope.scaling.type", "linear")
        .f32("llama.rope.scaling.factor", 2.0F);
  });
  EXPECT_EQ(linear.rope_theta, 5e5);
  EXPECT_EQ(linear.scaling.kind, kind::linear);
  EXPECT_FLOAT_EQ(linear.inverse_frequencies()[0], 0.5F);
  const auto yarn = config(3, [](gguf_bytes& bytes) {
    bytes.text("llama.rope.scaling.type", "yarn")
        .f32("llama.rope.scaling.factor", 4.0F)
        .u32("llama.rope.scaling.original_context_length", 16);
  });
  EXPECT_EQ(yarn.scaling.kind, kind::yarn);
  EXPECT_EQ(yarn.scaling.original_max_position, 16.0);
  EXPECT_NEAR(yarn.rope_attention_factor(), 1.138629F, 1e-6);
  const auto lists = config(1, [](gguf_bytes& bytes) {
    bytes.key("llama.attention.key_length", 9).add(std::uint32_t{4});
    bytes.add(std::uint64_t{1}).add(std::uint32_t{16});
  });
  EXPECT_EQ(lists.head_dim, 16);
}

TEST(GgufCheckpoint, RefusesByName) {
  const test::temporary_folder folder;
  const auto expect = [&](const std::string& bytes,
                          std::vector<std::string> parts) {
    const auto path = folder.write("model.gguf", bytes);
    parts.emplace_back("model.gguf");
    expect_input_error([&] { open_checkpoint(path); }, parts);
  };
  const auto with = [](const edit& more) { return file_with(1, more); };
  const auto text = [&](const char* key, const char* value) {
    return with([=](gguf_bytes& bytes) { bytes.text(key, value); });
  };
  const auto number = [&](const char* key, std::uint32_t value) {
    return with([=](gguf_bytes& bytes) { bytes.u32(key, value); });
  };
  gguf_bytes other{0, 1};
  expect(other.text("general.architecture", "qwen2").bytes(),
         {"general.architecture", "'qwen2'", "supported: llama"});
  expect(gguf_bytes{}.bytes(), {"general.architecture", "missing"});
  for (const auto* key :
       {"llama.context_length", "llama.embedding_length", "llama.block_count",
        "llama.feed_forward_length", "llama.attention.head_count"}) {
    expect(file_with(0, {}, 0, key), {key, "missing"});
  }
  expect(number("llama.expert_count", 8), {"expert_count", "experts"});
  expect(number("llama.attention.sliding_window", 8), {"sliding_window"});
  expect(number("llama.attention.value_length", 8), {"value_length"});
  expect(number("llama.rope.dimension_count", 8), {"dimension_count", "16"});
  expect(text("llama.rope.scaling.type", "longrope"),
         {"rope.scaling.type", "'longrope'"});
  expect(number("tokenizer.ggml.eos_token_id", 4), {"eos_token_id", "id 4"});
  expect(text("tokenizer.ggml.eos_token_id", "x"),
         {"eos_token_id", "an integer"});
  expect(with([](gguf_bytes& bytes) {
           bytes.key("llama.attention.key_length", 9).add(std::uint32_t{4});
           bytes.add(std::uint64_t{2});
           bytes.add(std::uint32_t{16}).add(std::uint32_t{8});
         }),
         {"key_length", "differs from layer to layer"});
  expect(file_with(0, {}, 20), {"token_embd.weight", "IQ4_NL"});
  const auto plain = folder.write("model.bin", "no model at all, just text");
  expect_input_error([&] { open_checkpoint(plain); },
                     {"model.bin", "not a GGUF file"});
}

TEST(GgufCheckpoint, OpensSmolLM2) {
  const auto path = test::cached("models/SmolLM2-135M-Instruct.Q4_1.gguf");
  VOUCH_REQUIRE_CACHED(path);
  const auto source = open_checkpoint(path);
  const auto& config = source->config();
  EXPECT_EQ(config.layers, 30);
  EXPECT_EQ(config.heads, 9);
  EXPECT_EQ(config.kv_heads, 3);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.vocab_size, 49152);
  EXPECT_EQ(config.max_position, 8192);
  EXPECT_EQ(config.rope_theta, 100000.0);
  EXPECT_TRUE(config.tied_head);
  EXPECT_EQ(source->eos_tokens(), std::vector<token_id>{2});
  EXPECT_EQ(source->default_name(), "SmolLM2-135M-Instruct.Q4_1");
  EXPECT_FALSE(source->chat_template().empty());
}

}  // namespace
}  // namespace vouch
