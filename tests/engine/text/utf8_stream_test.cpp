#include "engine/text/utf8_stream.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/text/utf8.hpp"

namespace vouch::engine {
namespace {

using namespace std::string_literals;

// What Rust's String::from_utf8_lossy gives for the same bytes.
TEST(Utf8Stream, ReplacesMaximalInvalidParts) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(replace_invalid_utf8("Hello \xF0\x90\x80World"),
            "Hello " + r + "World");
  EXPECT_EQ(replace_invalid_utf8("\xC2"), r);
  EXPECT_EQ(replace_invalid_utf8("\xC0\x80"), r + r);
  EXPECT_EQ(replace_invalid_utf8("\xE0\x80\x80"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(replace_invalid_utf8("\xF5\xFF"), r + r);
  EXPECT_EQ(replace_invalid_utf8("a\xE4\xB8z"), "a" + r + "z");
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x91"), r);
  EXPECT_EQ(replace_invalid_utf8("a\0b"s), "a\0b"s);
}

TEST(Utf8Stream, HoldsAnUnfinishedCharacter) {
  utf8_stream stream;
  EXPECT_EQ(stream.push("x\xF0\x9F"), "x");
  EXPECT_EQ(stream.push("\x91"), "");
  EXPECT_EQ(stream.push("\x8D!"), "👍!"s);
  EXPECT_EQ(stream.push("\xF0\x9F"), "");
  EXPECT_EQ(stream.push("z"), "\xEF\xBF\xBDz");
  EXPECT_EQ(stream.push("\xE4"), "");
  EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, AnySplitGivesTheSameText) {
  std::mt19937 rng{1};
  const std::vector<std::string> parts = {
      "a",    "ž",    "中",   "👍",        "\xF0", "\x9F", "\x91",    "\x8D",
      "\xC2", "\xED", "\xA0", "\xE0\x80", "\xFF", "\0"s,  "\xE4\xB8"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (unsigned n = rng() % 12; n > 0; --n)
      text += parts[rng() % parts.size()];
    const std::string whole = replace_invalid_utf8(text);
    EXPECT_TRUE(is_valid_utf8(whole));
    utf8_stream stream;
    std::string joined;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t take = 1 + rng() % 3;
      const std::string out = stream.push(text.substr(at, take));
      EXPECT_TRUE(is_valid_utf8(out));
      joined += out;
      at += take;
    }
    joined += stream.finish();
    ASSERT_EQ(joined, whole);
    if (is_valid_utf8(text)) {
      ASSERT_EQ(whole, text);
    }
  }
}

TEST(Utf8, WritesWhatItReads) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const utf8_step step = next_utf8(text, 0);
    std::size_t length = 0;
    ASSERT_EQ(step.what, utf8_step::kind::character);
    ASSERT_EQ(step.code, code);
    ASSERT_EQ(step.bytes, text.size());
    ASSERT_EQ(valid_utf8_at(text.data(), length), code);
    ASSERT_EQ(length, text.size());
  }
}

}  // namespace
}  // namespace vouch::engine
