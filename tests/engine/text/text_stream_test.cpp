#include "engine/text/text_stream.hpp"

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/text/utf8.hpp"

namespace vouch::engine {
namespace {

/// A vocabulary whose tokens are bytes given by the test.
class fake_tokenizer final : public tokenizer {
 public:
  fake_tokenizer(std::vector<std::string> words, std::vector<token_id> special)
      : words_{std::move(words)}, special_{std::move(special)} {}

  std::vector<token_id> encode(std::string_view,
                               const encode_options&) const override {
    return {};
  }
  std::vector<token_id> encode(const std::vector<text_span>&,
                               const encode_options&) const override {
    return {};
  }
  std::string_view token_bytes(token_id token) const override {
    return words_.at(static_cast<std::size_t>(token));
  }
  std::string token_text(token_id token) const override {
    return words_.at(static_cast<std::size_t>(token));
  }
  bool is_special(token_id token) const override {
    for (const token_id s : special_) {
      if (s == token) return true;
    }
    return false;
  }
  std::optional<token_id> find(std::string_view) const override { return {}; }
  std::int32_t size() const override {
    return static_cast<std::int32_t>(words_.size());
  }
  std::optional<token_id> bos() const override { return {}; }
  std::optional<token_id> eos() const override { return {}; }
  std::optional<token_id> pad() const override { return {}; }
  std::vector<token_id> turn_end_tokens() const override { return {}; }

 private:
  std::vector<std::string> words_;
  std::vector<token_id> special_;
};

std::shared_ptr<const tokenizer> words(std::vector<std::string> list,
                                       std::vector<token_id> special = {}) {
  return std::make_shared<fake_tokenizer>(std::move(list), std::move(special));
}

TEST(TextStream, NeverShowsPartOfAStopString) {
  const auto vocabulary =
      words({"The", " quick", " br", "own", " f", "ox", " jumps"});
  text_stream stream{vocabulary, {"own fox"}, true};
  std::vector<std::string> deltas;
  for (token_id t = 0; t < 7; ++t) deltas.push_back(stream.push(t));
  deltas.push_back(stream.finish());
  EXPECT_EQ(deltas, (std::vector<std::string>{"The", " quick", " br", "", "",
                                              "", "", ""}));
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStream, GivesBackWhatNoStopStringClaimed) {
  const auto vocabulary = words({"br", "own", " f", "ence"});
  text_stream stream{vocabulary, {"own fox"}, true};
  EXPECT_EQ(stream.push(0), "br");
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.push(2), "");
  EXPECT_EQ(stream.push(3), "own fence");
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.finish(), "own");
  EXPECT_FALSE(stream.stopped());
}

TEST(TextStream, KeepsTheStopStringWhenAsked) {
  const auto vocabulary = words({"a\n", "\nb"});
  text_stream stream{vocabulary, {"\n\n"}, true, true};
  EXPECT_EQ(stream.push(0), "a");
  EXPECT_EQ(stream.push(1), "\n\n");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, JoinsCharactersAcrossTokens) {
  // An emoji and a Czech letter over two tokens each, a CJK one over three.
  const auto vocabulary = words({"\xF0\x9F", "\x91\x8D", "\xC5", "\xBE", "\xE4",
                                 "\xB8", "\xAD", "<|im_end|>"},
                                {7});
  text_stream stream{vocabulary, {}, true};
  std::string text;
  for (token_id t = 0; t < 7; ++t) text += stream.push(t);
  EXPECT_EQ(text, "👍ž中");
  // A cut emoji is replaced once, when a special token or the end says so.
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.push(7), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(1), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(stream.push(0), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST(TextStream, ShowsSpecialTokensWhenAsked) {
  const auto vocabulary = words({"a", "<s>"}, {1});
  text_stream stream{vocabulary, {}, false};
  EXPECT_EQ(stream.push(0) + stream.push(1) + stream.push(0), "a<s>a");
}

/// The definition, over all tokens at once: stop strings are found in the
/// bytes, the text before them is decoded run by run between skipped tokens.
std::string whole_text(const tokenizer& vocabulary,
                       const std::vector<token_id>& tokens,
                       const std::vector<std::string>& stops, bool include) {
  std::string bytes;
  std::vector<std::size_t> breaks;
  for (const token_id t : tokens) {
    if (vocabulary.is_special(t)) {
      breaks.push_back(bytes.size());
    } else {
      bytes += vocabulary.token_bytes(t);
    }
  }
  std::size_t begin = std::string::npos;
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops) {
    const std::size_t at = bytes.find(stop);
    if (at == std::string::npos) continue;
    const std::size_t stop_end = at + stop.size();
    if (stop_end < end || (stop_end == end && at < begin)) {
      begin = at;
      end = stop_end;
    }
  }
  bytes.resize(std::min(bytes.size(), include ? end : begin));
  std::string out;
  std::size_t from = 0;
  for (const std::size_t at : breaks) {
    if (at > bytes.size()) break;
    out +=
        replace_invalid_utf8(std::string_view{bytes}.substr(from, at - from));
    from = at;
  }
  return out + replace_invalid_utf8(std::string_view{bytes}.substr(from));
}

TEST(TextStream, AgreesWithTheDefinition) {
  const auto vocabulary = words({"a", "ab", "b", "ž", "\xC5", "\xBE",
                                 "\xF0\x9F", "\x91\x8D", "ba", "<s>", ""},
                                {9});
  const std::vector<std::string> choices = {"ab", "aba", "žb",   "ž",  "bb",
                                            "👍",  "a",   "baba", "b👍a"};
  std::mt19937 rng{3};
  for (int round = 0; round < 30000; ++round) {
    std::vector<std::string> stops;
    for (unsigned n = rng() % 3; n > 0; --n) {
      stops.push_back(choices[rng() % choices.size()]);
    }
    std::vector<token_id> tokens;
    for (unsigned n = rng() % 14; n > 0; --n) {
      tokens.push_back(static_cast<token_id>(rng() % 11));
    }
    const bool include = rng() % 2;
    const std::string want = whole_text(*vocabulary, tokens, stops, include);
    text_stream stream{vocabulary, stops, true, include};
    std::string got;
    for (const token_id t : tokens) {
      got += stream.push(t);
      ASSERT_TRUE(is_valid_utf8(got));
      ASSERT_EQ(want.compare(0, got.size(), got), 0);
    }
    got += stream.finish();
    ASSERT_EQ(got, want);
  }
}

}  // namespace
}  // namespace vouch::engine
