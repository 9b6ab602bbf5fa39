// llama.cpp's test vectors, and properties of the real vocabularies.
#include <sstream>

#include "tests/engine/tokenizer/support.hpp"

namespace vouch::engine {
namespace {

using test::plain;

class LlamaCppVectors : public testing::TestWithParam<std::string> {};

TEST_P(LlamaCppVectors, AreAllEqual) {
  const auto file = test::vocabulary_file(GetParam());
  VOUCH_REQUIRE_CACHED(file);
  const auto model = load_tokenizer(file);
  const std::string inputs = test::read_file(file.string() + ".inp");
  std::istringstream outputs{test::read_file(file.string() + ".out")};
  const std::string separator = "\n__ggml_vocab_test__\n";
  encode_options options = plain();
  options.normalize = false;  // llama.cpp does not

  std::size_t begin = 0;
  std::size_t count = 0;
  std::string line;
  while (std::getline(outputs, line)) {
    ASSERT_LE(begin, inputs.size());
    const std::size_t end =
        std::min(inputs.find(separator, begin), inputs.size());
    const std::string text = inputs.substr(begin, end - begin);
    begin = end + separator.size();
    std::vector<token_id> want;
    std::istringstream numbers{line};
    for (token_id id = 0; numbers >> id;) want.push_back(id);
    EXPECT_EQ(model->encode(text, options), want) << text;
    ++count;
  }
  EXPECT_GE(count, 40u);
}

INSTANTIATE_TEST_SUITE_P(, LlamaCppVectors,
                         testing::Values("gpt-2", "llama-bpe", "qwen2",
                                         "qwen35", "llama-spm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(RealVocabularies, DecodeWhatTheyEncode) {
  std::mt19937 rng{4};
  for (const auto name :
       {"gpt-2", "llama-bpe", "qwen2", "qwen35", "llama-spm"}) {
    const auto file = test::vocabulary_file(name);
    VOUCH_REQUIRE_CACHED(file);
    const auto model = load_tokenizer(file);
    encode_options options = plain();
    options.normalize = false;
    for (int i = 0; i < 2000; ++i) {
      const std::string text = test::nasty_text(rng, 20);
      ASSERT_EQ(model->decode(model->encode(text, options), false), text)
          << name;
    }
  }
}

TEST(RealVocabularies, KnowTheirTokens) {
  const auto file = test::cached("models/SmolLM2-135M-Instruct.Q4_1.gguf");
  VOUCH_REQUIRE_CACHED(file);
  const auto model = load_tokenizer(file);
  EXPECT_EQ(model->size(), 49152);
  EXPECT_EQ(model->bos(), 1);
  EXPECT_EQ(model->eos(), 2);
  EXPECT_EQ(model->pad(), 2);
  EXPECT_EQ(model->find("<|im_end|>"), 2);
  EXPECT_EQ(model->turn_end_tokens(), std::vector<token_id>{2});
  EXPECT_TRUE(model->is_special(0));
  EXPECT_FALSE(model->is_special(49151));
  EXPECT_FALSE(model->is_special(-1));
  EXPECT_EQ(model->token_bytes(49152), "");
  EXPECT_EQ(model->token_bytes(-1), "");
  const auto the = model->encode(" the", plain());
  ASSERT_EQ(the.size(), 1u);
  EXPECT_EQ(model->token_text(the[0]), "\u0120the");
  EXPECT_EQ(model->token_bytes(the[0]), " the");
  EXPECT_EQ(model->warning(), "");
  // Digits stand alone; a byte without a token vanishes.
  EXPECT_EQ(model->encode("2023", plain()).size(), 4u);
  EXPECT_EQ(model->decode(model->encode("a\x1d\x1d"
                                        "b",
                                        plain()),
                          false),
            "ab");
}

TEST(RealVocabularies, PutTheBosThatTheFileAsksFor) {
  const auto llama = test::vocabulary_file("llama-bpe");
  const auto qwen = test::vocabulary_file("qwen2");
  VOUCH_REQUIRE_CACHED(llama);
  const auto with = load_tokenizer(llama)->encode("hi", {});
  ASSERT_EQ(with.size(), 2u);
  EXPECT_EQ(with[0], 128000);
  EXPECT_EQ(load_tokenizer(qwen)->encode("hi", {}).size(), 1u);
}

TEST(RealVocabularies, ComposeWhereTheModelsDo) {
  const auto file = test::vocabulary_file("qwen2");
  VOUCH_REQUIRE_CACHED(file);
  const auto model = load_tokenizer(file);
  encode_options raw = plain();
  raw.normalize = false;
  EXPECT_EQ(model->encode("e\u0301", plain()), model->encode("é", plain()));
  EXPECT_NE(model->encode("e\u0301", raw), model->encode("é", raw));
}

}  // namespace
}  // namespace vouch::engine
