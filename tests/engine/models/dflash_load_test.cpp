// Which files are a drafter's, how their configurations are read, what is
// declined for a target (with a reason), and what is an error.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/gguf.hpp"
#include "engine/models/dflash_names.hpp"
#include "tests/engine/executor/fake_model.hpp"
#include "tests/engine/models/dflash_fixture.hpp"
#include "tests/support/expect_input_error.hpp"

namespace vouch {
namespace {

using engine::dflash_config;
using engine::dflash_decline;
using test::dflash_world;

std::string replaced(std::string text, const std::string& old,
                     const std::string& other) {
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), other);
}

/// The folder of `form` with a piece of its configuration replaced.
test::temporary_folder edited(const std::string& form, const std::string& old,
                              const std::string& other) {
  auto folder = test::dflash_folder(form);
  folder.write(
      "config.json",
      replaced(test::read_file(folder.path() / "config.json"), old, other));
  return folder;
}

dflash_config read(const std::string& fields) {
  return engine::read_dflash_config(engine::json_object::parse(
      "config.json",
      R"({"architectures": ["DFlashDraftModel"], "model_type": "qwen3",
          "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
          "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "head_dim": 16)" +
          fields + "}"));
}

constexpr const char* nested = R"(, "dflash_config": {"mask_token_id": 99})";

// ---------------------------------------------------------- configuration

TEST(DflashConfig, FieldsAreNestedOrAtTheTop) {
  const auto top = read(R"(, "block_size": 10, "mask_token_id": 7,
                            "target_layer_ids": [1, 4, 9],
                            "num_target_layers": 12,
                            "final_logit_softcapping": 30.0)");
  EXPECT_EQ(top.block_size, 10);
  EXPECT_EQ(top.mask_token, 7);
  EXPECT_EQ(top.taps, (std::vector<std::int32_t>{1, 4, 9}));
  EXPECT_EQ(top.target_layers, 12);
  EXPECT_EQ(top.softcap, 30.0F);
  const auto both = read(R"(, "block_size": 10, "mask_token_id": 7,
      "dflash_config": {"block_size": 8, "mask_token_id": 3,
                        "target_layer_ids": [2], "num_target_layers": 4,
                        "input_embedding_scale": 2.5,
                        "output_multiplier": 0.5})");
  EXPECT_EQ(both.block_size, 8);
  EXPECT_EQ(both.mask_token, 3);
  EXPECT_EQ(both.taps, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(both.target_layers, 4);
  EXPECT_EQ(both.embedding_scale, 2.5F);
  EXPECT_EQ(both.output_multiplier, 0.5F);
}

TEST(DflashConfig, Defaults) {
  const auto config = read(nested);
  EXPECT_EQ(config.block_size, 16);
  EXPECT_TRUE(config.taps.empty());
  EXPECT_EQ(config.target_layers, 0);
  EXPECT_EQ(config.tap_width, 64);
  EXPECT_EQ(config.embedding_scale, 1);
  EXPECT_EQ(config.softcap, 0);
  EXPECT_FALSE(config.sample_from_anchor);
  EXPECT_EQ(config.silent_rows(), 1);
  ASSERT_EQ(config.masks.size(), 2U);
  EXPECT_EQ(config.masks[0].window, 0);
  EXPECT_FALSE(config.masks[0].causal);
}

/// Those of published drafters: Qwen3-4B and 8B, Qwen3.5-35B-A3B (8 layers, 5
/// taps given), Qwen3.6-27B, Qwen2.5-0.5B.
TEST(DflashConfig, DefaultTaps) {
  using taps = std::vector<std::int32_t>;
  EXPECT_EQ(engine::default_taps(36, 5), (taps{1, 9, 17, 25, 33}));
  EXPECT_EQ(engine::default_taps(64, 5), (taps{1, 16, 31, 46, 61}));
  EXPECT_EQ(engine::default_taps(24, 5), (taps{1, 6, 11, 16, 21}));
  EXPECT_EQ(engine::default_taps(32, 5), (taps{1, 8, 15, 22, 29}));
  EXPECT_EQ(engine::default_taps(36, 1), (taps{18}));
  // 1 + 21 / 2 = 11.5 and 1 + 23 / 2 = 12.5: halves go to the even neighbour.
  EXPECT_EQ(engine::default_taps(25, 3), (taps{1, 12, 22}));
  EXPECT_EQ(engine::default_taps(27, 3), (taps{1, 12, 24}));
}

TEST(DflashConfig, Masks) {
  const auto masks = [](const std::string& fields) {
    std::string text;
    for (const auto& mask : read(fields).masks) {
      text += std::to_string(mask.window) + (mask.causal ? "c " : " ");
    }
    return text;
  };
  const std::string sliding =
      R"(, "layer_types": ["sliding_attention", "full_attention"],
           "sliding_window": 20, "use_sliding_window": true)";
  const auto with = [&](const std::string& fields) {
    return masks(sliding + fields + nested);
  };
  EXPECT_EQ(with(""), "20c 0 ");
  EXPECT_EQ(with(R"(, "is_causal": false)"), "20 0 ");
  EXPECT_EQ(with(R"(, "is_causal": true)"), "20c 0c ");
  EXPECT_EQ(masks(sliding + R"(, "dflash_config": {"mask_token_id": 1,
                                                   "causal": false})"),
            "20 0 ");
  EXPECT_EQ(masks(sliding + R"(, "is_causal": true, "dflash_config":
                               {"mask_token_id": 1, "causal": false})"),
            "20c 0c ");
  EXPECT_EQ(masks(R"(, "dflash_config": {"mask_token_id": 1, "use_swa": true,
                       "swa_window_size": 9})"),
            "9 9 ");
  EXPECT_EQ(masks(R"(, "use_sliding_window": true, "sliding_window": 7)" +
                  std::string{nested}),
            "0 0 ");
  EXPECT_EQ(masks(R"(, "use_sliding_window": true, "sliding_window": 7,
                       "max_window_layers": 1)" +
                  std::string{nested}),
            "0 7 ");
}

TEST(DflashConfig, AnchorConventions) {
  EXPECT_TRUE(read(R"(, "sample_from_anchor": true)" + std::string{nested})
                  .sample_from_anchor);
  EXPECT_TRUE(read(R"(, "dflash_config": {"mask_token_id": 1,
                        "projector_type": "dspark"})")
                  .sample_from_anchor);
  EXPECT_FALSE(read(R"(, "dflash_config": {"mask_token_id": 1,
                         "projector_type": "dspark",
                         "sample_from_anchor": false})")
                   .sample_from_anchor);
  // These ids count hidden states.
  EXPECT_EQ(
      read(R"(, "aux_hidden_state_layer_ids": [2, 5])" + std::string{nested})
          .taps,
      (std::vector<std::int32_t>{1, 4}));
}

TEST(DflashConfig, ErrorsNameFileAndField) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"", {"config.json", "'mask_token_id' is missing"}},
      {R"(, "mask_token_id": -1)", {"'mask_token_id' is -1"}},
      {R"(, "dflash_config": {"mask_token_id": "x"})",
       {"dflash_config.mask_token_id", "not an integer"}},
      {R"(, "dflash_config": {"mask_token_id": 1, "block_size": 0})",
       {"dflash_config.block_size", "is 0"}},
      {R"(, "mask_token_id": 1, "target_layer_ids": [-1])",
       {"'target_layer_ids' names layer -1"}},
      {R"(, "mask_token_id": 1, "aux_hidden_state_layer_ids": [0])",
       {"'aux_hidden_state_layer_ids' names layer 0"}},
      {R"(, "mask_token_id": 1, "target_layer_ids": [])",
       {"'target_layer_ids' is empty"}},
      {R"(, "mask_token_id": 1, "layer_types": ["full_attention"])",
       {"'layer_types' has 1 entries for 2 layers"}},
      {R"(, "mask_token_id": 1, "layer_types": ["full_attention", "x"])",
       {"'layer_types' names 'x'"}},
      {R"(, "mask_token_id": 1,
            "layer_types": ["full_attention", "sliding_attention"])",
       {"'sliding_window' is missing"}},
      {R"(, "mask_token_id": 1, "sliding_window": 4,
            "use_sliding_window": false,
            "layer_types": ["full_attention", "sliding_attention"])",
       {"'use_sliding_window' is false"}},
      {R"(, "mask_token_id": 1, "use_swa": true)",
       {"'swa_window_size' is missing"}},
      {R"(, "mask_token_id": 1, "selector_rank": 4)",
       {"'conv_kernel_size' is missing"}},
      {R"(, "mask_token_id": 1, "selector_rank": 4, "selector_top_k": 4,
            "conv_kernel_size": 2, "conv_group_size": 7)",
       {"multiple of the convolution's group size"}},
      {R"(, "mask_token_id": 1, "output_multiplier": 0)",
       {"output multiplier"}},
      {R"(, "mask_token_id": 1, "rope_parameters": {"rope_type": "zzz"})",
       {"rope_parameters.rope_type", "zzz"}},
  };
  for (const auto& [fields, parts] : cases) {
    test::expect_input_error([&] { read(fields); }, parts);
  }
}

TEST(DflashConfig, IsRecognisedByArchitectureOrObject) {
  const auto is = [](const char* text) {
    return engine::is_dflash(engine::json_object::parse("config.json", text));
  };
  EXPECT_TRUE(is(R"({"architectures": ["DFlashDraftModel"]})"));
  EXPECT_TRUE(is(R"({"architectures": ["DFlash2DraftModel"]})"));
  EXPECT_TRUE(is(R"({"architectures": ["Qwen3DSparkModel"]})"));
  EXPECT_TRUE(is(R"({"model_type": "qwen3", "dflash_config": {}})"));
  EXPECT_FALSE(is(R"({"model_type": "qwen3",
                      "architectures": ["Qwen3ForCausalLM"]})"));
}

TEST(DflashConfig, Gguf) {
  const auto file =
      engine::gguf_file::open(test::dflash_fixture("sliding.gguf"));
  ASSERT_TRUE(engine::is_dflash(file));
  const auto config = engine::read_dflash_config(file);
  EXPECT_EQ(config.block_size, 8);
  EXPECT_EQ(config.mask_token, 63);
  EXPECT_EQ(config.shape.vocab_size, 64);
  EXPECT_EQ(config.taps, (std::vector<std::int32_t>{1, 4}));
  EXPECT_EQ(config.rotary_dimensions, 16);
  EXPECT_EQ(config.masks[0].window, 6);
  EXPECT_EQ(config.masks[1].window, 0);
  EXPECT_FALSE(config.masks[0].causal);
  EXPECT_FALSE(engine::is_dflash(
      engine::gguf_file::open(test::fixture("llama_tiny.gguf"))));
}

TEST(DflashNames, AliasesAndGguf) {
  using engine::dflash_name;
  using engine::dflash_name_of_gguf;
  EXPECT_EQ(dflash_name("model.layers.1.mlp.up_proj.weight"),
            "layers.1.mlp.up_proj.weight");
  EXPECT_EQ(dflash_name("encoder.fc.weight"), "fc.weight");
  EXPECT_EQ(dflash_name("encoder.output_norm_enc.weight"),
            "hidden_norm.weight");
  EXPECT_EQ(dflash_name("midlayer.self_attn.q_proj.weight"),
            "layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(dflash_name("candidate_selector.successor_codebook.weight"),
            "candidate_selector.successor_codebook");
  EXPECT_EQ(dflash_name("t2d"), "");
  EXPECT_EQ(dflash_name_of_gguf("enc.output_norm.weight"),
            "hidden_norm.weight");
  EXPECT_EQ(dflash_name_of_gguf("output_norm.weight"), "norm.weight");
  EXPECT_EQ(dflash_name_of_gguf("blk.3.ffn_norm.weight"),
            "layers.3.post_attention_layernorm.weight");
  EXPECT_EQ(dflash_name_of_gguf("blk.0.attn_conv_base"),
            "layers.0.attention_conv.base_kernel");
  EXPECT_EQ(dflash_name_of_gguf("blk.0.attn_sinks"), "blk.0.attn_sinks");
}

// ------------------------------------------------------------------- load

class DflashLoad : public ::testing::Test {
 protected:
  void expect_declined(const std::filesystem::path& path, dflash_decline reason,
                       const std::string& words) {
    const auto result = world.load(path);
    const auto* declined = std::get_if<engine::dflash_declined>(&result);
    ASSERT_NE(declined, nullptr) << words;
    EXPECT_EQ(declined->reason, reason) << declined->words;
    EXPECT_NE(declined->words.find(words), std::string::npos)
        << declined->words;
  }

  dflash_world world;
};

TEST_F(DflashLoad, AnotherFamilyIsDeclined) {
  using enum dflash_decline;
  expect_declined(test::fixture("llama_tiny"), wrong_family, "llama_tiny");
  expect_declined(test::fixture("llama_tiny.gguf"), wrong_family,
                  "no DFlash drafter");
  EXPECT_EQ(engine::name_of(wrong_family), "wrong_family");
  EXPECT_EQ(engine::name_of(wrong_vocabulary), "wrong_vocabulary");
}

TEST_F(DflashLoad, AnotherTargetIsDeclined) {
  using enum dflash_decline;
  const auto layers =
      edited("full", R"("num_target_layers": 7)", R"("num_target_layers": 9)");
  expect_declined(layers.path(), wrong_shape, "is 9, the target's 7");
  const auto width =
      edited("full", R"("num_target_layers": 7)",
             R"("num_target_layers": 7, "target_hidden_size": 48)");
  expect_declined(width.path(), wrong_shape, "taps' width is 48");
  const auto hidden = edited("full", R"("hidden_size": 32)",
                             R"("hidden_size": 64, "target_hidden_size": 32)");
  expect_declined(hidden.path(), wrong_shape, "hidden size is 64");
  for (const char* taps : {"[1, 6]", "[1, 7]"}) {
    const auto late = edited(
        "full", R"("mask_token_id")",
        std::string{"\"target_layer_ids\": "} + taps + ", \"mask_token_id\"");
    expect_declined(late.path(), wrong_shape, "one before the last of 7");
  }
  const auto vocabulary =
      edited("full", R"("vocab_size": 64)", R"("vocab_size": 65)");
  expect_declined(vocabulary.path(), wrong_vocabulary,
                  "size is 65, the target's 64");
  const auto mask =
      edited("full", R"("mask_token_id": 63)", R"("mask_token_id": 64)");
  expect_declined(mask.path(), wrong_vocabulary, "mask token is 64");
}

TEST_F(DflashLoad, OtherFormsAreDeclined) {
  using enum dflash_decline;
  const auto expect_unsupported = [&](const std::string& old,
                                      const std::string& other,
                                      const std::string& words) {
    const auto folder = edited("full", old, other);
    expect_declined(folder.path(), unsupported_form, words);
  };
  expect_unsupported(R"("mask_token_id")",
                     R"("projector_type": "domino", "mask_token_id")",
                     "projector_type 'domino'");
  expect_unsupported(R"("mask_token_id")",
                     R"("attention_sink_bias": true, "mask_token_id")",
                     "attention_sink_bias");
  expect_unsupported(R"("hidden_act": "silu")", R"("hidden_act": "gelu")",
                     "hidden_act 'gelu'");
  expect_unsupported(R"("head_dim": 16)", R"("head_dim": 8)",
                     "head dimension of 8");
  // Tensors that nothing would compute with.
  const auto folder = edited("biased", R"("attention_bias": true)",
                             R"("attention_bias": false)");
  expect_declined(folder.path(), unsupported_form, "_proj.bias'");
}

TEST_F(DflashLoad, ATargetWithoutTapsIsDeclined) {
  const test::fake_model target;
  const auto folder = test::dflash_folder("full");
  const auto result = engine::load_dflash(folder.path(), target, world.pool);
  const auto* declined = std::get_if<engine::dflash_declined>(&result);
  ASSERT_NE(declined, nullptr);
  EXPECT_EQ(declined->reason, dflash_decline::unsupported_target);
}

TEST_F(DflashLoad, BrokenFilesAreErrors) {
  test::expect_input_error([&] { world.load("/nonexistent/drafter"); },
                           {"/nonexistent/drafter", "does not exist"});
  const test::temporary_folder empty;
  test::expect_input_error([&] { world.load(empty.path()); }, {"config.json"});
  empty.write("config.json",
              test::read_file(test::dflash_fixture("full/config.json")));
  test::expect_input_error([&] { world.load(empty.path()); },
                           {"holds neither model.safetensors"});
  const auto more = edited("one_layer", R"("num_hidden_layers": 1)",
                           R"("num_hidden_layers": 2)");
  more.write("config.json",
             replaced(replaced(test::read_file(more.path() / "config.json"),
                               R"("full_attention")",
                               R"("full_attention", "full_attention")"),
                      R"("mask_token_id")",
                      R"("target_layer_ids": [3], "mask_token_id")"));
  test::expect_input_error(
      [&] { world.load(more.path()); },
      {"tensor 'layers.1.input_layernorm.weight' is missing"});
  const auto wide = edited("full", R"("intermediate_size": 64)",
                           R"("intermediate_size": 96)");
  test::expect_input_error([&] { world.load(wide.path()); },
                           {"mlp.gate_proj.weight", "[64, 32]", "[96, 32]"});
  const auto taps = edited("full", R"("mask_token_id")",
                           R"("target_layer_ids": [1, 2, 4], "mask_token_id")");
  test::expect_input_error([&] { world.load(taps.path()); },
                           {"'fc.weight'", "[32, 64]", "[32, 96]"});
  const auto map = edited("own_vocabulary", R"("draft_vocab_size": 40)",
                          R"("draft_vocab_size": 41)");
  test::expect_input_error([&] { world.load(map.path()); },
                           {"'d2t'", "draft_vocab_size (41)"});
  const auto unmapped = edited("full", R"("head_dim": 16)",
                               R"("head_dim": 16, "draft_vocab_size": 40)");
  test::expect_input_error([&] { world.load(unmapped.path()); },
                           {"'d2t' is missing", "draft_vocab_size is 40"});
}

TEST_F(DflashLoad, SaysWhatItIs) {
  const auto drafter = world.form("full");
  EXPECT_EQ((std::vector<std::int32_t>{drafter->taps().begin(),
                                       drafter->taps().end()}),
            (std::vector<std::int32_t>{1, 4}));
  EXPECT_GT(drafter->weight_bytes(), 20000U);
  // A whole vocabulary needs no map.
  const auto whole = edited("full", R"("head_dim": 16)",
                            R"("head_dim": 16, "draft_vocab_size": 64)");
  EXPECT_EQ(world.require(whole.path())->weight_bytes(),
            drafter->weight_bytes());
  // Its own ends are weights too.
  EXPECT_GT(world.form("own_ends")->weight_bytes(), drafter->weight_bytes());
}

}  // namespace
}  // namespace vouch
