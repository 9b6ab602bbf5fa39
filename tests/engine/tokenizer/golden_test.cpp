// Against ids that tools/golden/make_tokenizers.py made with the `tokenizers`
// library.
#include <simdjson.h>

#include "engine/tokenizer/normalizer.hpp"
#include "tests/engine/tokenizer/support.hpp"

namespace vouch::engine {
namespace {

using test::ids_of;
using test::plain;

class TokenizerJsonGolden : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerJsonGolden, EncodesAndDecodesLikeTokenizers) {
  const std::string folder = "tokenizers/";
  const auto model =
      load_tokenizer(test::fixture(folder + GetParam() + ".json"));
  const std::string golden =
      test::fixture(folder + GetParam() + ".golden.json").string();
  simdjson::dom::parser parser;
  const json_node cases = read_json(parser, golden);
  const bool decodes = GetParam() != "words_like";  // it has no decoder
  for (const json_node& item : cases.items()) {
    const auto parts = item.items();
    const std::string text{parts[0].string()};
    EXPECT_EQ(model->encode(text, {}), ids_of(parts[1])) << text;
    EXPECT_EQ(model->encode(text, plain()), ids_of(parts[2])) << text;
    if (decodes) {
      EXPECT_EQ(model->decode(ids_of(parts[1]), true), parts[3].string())
          << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TokenizerJsonGolden,
                         testing::Values("gpt2_like", "llama3_like", "spm_like",
                                         "unk_like", "splits_like",
                                         "words_like"),
                         [](const auto& info) { return info.param; });

class GgufGolden : public testing::TestWithParam<std::string> {};

TEST_P(GgufGolden, EncodesLikeTokenizers) {
  const std::string golden =
      test::fixture("tokenizers/vocabularies.json").string();
  simdjson::dom::parser parser;
  const json_node root = read_json(parser, golden);
  const json_node entry = root.at("cases").at(GetParam());
  const auto file = test::cached(std::string{entry.at("file").string()});
  VOUCH_REQUIRE_CACHED(file);
  const auto model = load_tokenizer(file);
  const auto strings = root.at("strings").items();
  const auto ids = entry.at("ids").items();
  ASSERT_GE(ids.size(), 160u);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(model->encode(strings[i].string(), plain()), ids_of(ids[i]))
        << strings[i].string();
  }
}

INSTANTIATE_TEST_SUITE_P(, GgufGolden,
                         testing::Values("smollm2", "gpt-2", "llama-bpe",
                                         "qwen2", "qwen35"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(UnicodeForms, MatchPython) {
  const std::string golden =
      test::fixture("tokenizers/normalization.json").string();
  simdjson::dom::parser parser;
  const json_node cases = read_json(parser, golden);
  for (const json_node& item : cases.items()) {
    const auto parts = item.items();
    for (const bool composed : {true, false}) {
      traced_text text{std::string{parts[0].string()}, {}};
      text.origin.assign(text.text.size(), 7);
      make_unicode_form(composed)->apply(text);
      EXPECT_EQ(text.text, parts[composed ? 1 : 2].string());
      EXPECT_EQ(text.origin, std::vector<std::uint32_t>(text.text.size(), 7));
    }
  }
}

}  // namespace
}  // namespace vouch::engine
