// The hand-written matchers against PCRE2 with the same expressions.
#include "engine/tokenizer/pattern.hpp"

#include "engine/text/utf8.hpp"
#include "engine/tokenizer/pre_tokenizer.hpp"
#include "engine/tokenizer/regex.hpp"
#include "tests/engine/tokenizer/support.hpp"

namespace vouch::engine {
namespace {

std::vector<std::string_view> by_hand(pattern_kind kind,
                                      std::string_view text) {
  std::vector<std::string_view> out;
  split_by_pattern(kind, text, out);
  return out;
}

class Pattern : public testing::TestWithParam<pattern_kind> {};

TEST_P(Pattern, AgreesWithPcre2) {
  const std::string expression{pattern_text(GetParam())};
  EXPECT_EQ(find_pattern(expression), GetParam());
  const auto slow =
      make_regex_split(regex{expression}, split_behavior::isolated, false);
  std::mt19937 rng{5};
  for (int i = 0; i < 30000; ++i) {
    const std::string text = test::nasty_text(rng, 24);
    piece_list want;
    slow->split(text, false, want);
    ASSERT_EQ(by_hand(GetParam(), text), want.pieces) << text;
  }
}

TEST_P(Pattern, AgreesWithPcre2OnEveryCharacter) {
  const std::string expression{pattern_text(GetParam())};
  const auto slow =
      make_regex_split(regex{expression}, split_behavior::isolated, false);
  const auto fast = make_pattern_split(GetParam());
  std::size_t different = 0;
  for (char32_t code = 1; code < 0x110000; ++code) {
    // Surrogates, and the case that the header names: U+017F folds to s.
    if ((code >= 0xD800 && code < 0xE000) || code == 0x17F) continue;
    std::string text = "a";
    for (const char* around : {"", " ", "1", "\n", "'"}) {
      append_utf8(text, code);
      text += around;
    }
    piece_list want;
    piece_list got;
    slow->split(text, false, want);
    fast->split(text, false, got);
    different += got.pieces != want.pieces;
  }
  EXPECT_EQ(different, 0u);
}

INSTANTIATE_TEST_SUITE_P(, Pattern,
                         testing::Values(pattern_kind::gpt2,
                                         pattern_kind::llama3,
                                         pattern_kind::qwen2,
                                         pattern_kind::qwen35));

TEST(PatternCorners, AreAsKnown) {
  using pieces = std::vector<std::string_view>;
  EXPECT_EQ(by_hand(pattern_kind::gpt2, "I'll  go\n\n now"),
            (pieces{"I", "'ll", " ", " go", "\n\n", " now"}));
  EXPECT_EQ(by_hand(pattern_kind::llama3, "x12345 \r\n\r\n  y"),
            (pieces{"x", "123", "45", " \r\n\r\n", " ", " y"}));
  EXPECT_EQ(by_hand(pattern_kind::qwen2, "THEY'RE !?\n-a"),
            (pieces{"THEY", "'RE", " !?\n", "-a"}));
  EXPECT_EQ(by_hand(pattern_kind::qwen35, "क्षि"), pieces{"क्षि"});
  EXPECT_EQ(by_hand(pattern_kind::gpt2, ""), pieces{});
}

TEST(Regex, RefusesWhatOnigurumaReadsDifferently) {
  EXPECT_THROW(regex{R"([a-z&&[^b]])"}, std::invalid_argument);
  EXPECT_THROW(regex{R"([a[bc]])"}, std::invalid_argument);
  EXPECT_THROW(regex{"("}, std::invalid_argument);
  EXPECT_EQ(regex{R"([[:alpha:]\[]+)"}.find_all("a[b").size(), 1u);
  EXPECT_EQ(regex{"[^]x]"}.find_all("]a").size(), 1u);
}

TEST(Regex, HasOnigurumasClasses) {
  const auto takes = [](const char* pattern, std::string_view text) {
    const auto hits = regex{pattern}.find_all(text);
    return hits.size() == 1 && hits[0].end - hits[0].begin == text.size();
  };
  // Marks and letter-like symbols are of a word, most other numbers are not.
  for (const char* text :
       {"\u0939\u093F\u0928", "\u24D0", "_", "\u0664", "\u2167", "\u00BD"}) {
    EXPECT_TRUE(takes(R"(\w+)", text)) << text;
    EXPECT_TRUE(takes(R"([\w]+)", text)) << text;
    EXPECT_FALSE(takes(R"(\W+)", text)) << text;
    EXPECT_FALSE(takes(R"([^\w]+)", text)) << text;
  }
  for (const char* text : {"\u2460", "\u200D", " ", "\u180E"}) {
    EXPECT_FALSE(takes(R"(\w+)", text)) << text;
    EXPECT_TRUE(takes(R"(\W+)", text)) << text;
  }
  EXPECT_FALSE(takes(R"(\s+)", "\u180E"));
  EXPECT_TRUE(takes(R"(\S+)", "\u180E"));
  EXPECT_TRUE(takes(R"([^\s]+)", "\u180E"));
  EXPECT_TRUE(takes(R"(\\w)", "\\w"));
  EXPECT_THROW(regex{R"([\W_])"}, std::invalid_argument);
}

TEST(Regex, FindsEmptyMatchesAndGoesOn) {
  const auto hits = regex{"x*"}.find_all("axé");
  std::vector<std::pair<std::size_t, std::size_t>> got;
  for (const auto& hit : hits) got.emplace_back(hit.begin, hit.end);
  EXPECT_EQ(got, (std::vector<std::pair<std::size_t, std::size_t>>{
                     {0, 0}, {1, 2}, {2, 2}, {4, 4}}));
}

TEST(Regex, SurvivesDeepBacktracking) {
  const regex expression{"(?:a|b)+c"};
  EXPECT_EQ(expression.find_all(std::string(200000, 'a') + "c").size(), 1u);
}

}  // namespace
}  // namespace vouch::engine
