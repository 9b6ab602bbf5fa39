#include "engine/checkpoint/gguf.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/checkpoint/gguf_bytes.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

using engine::gguf_file;
using test::gguf_bytes;

constexpr auto huge = std::numeric_limits<std::uint64_t>::max();

class GgufFile : public ::testing::Test {
 protected:
  gguf_file open(const std::string& bytes) {
    return gguf_file::open(folder_.write("model.gguf", bytes));
  }
  gguf_file open(const gguf_bytes& file) { return open(file.bytes()); }

  void expect_error(const std::string& bytes, std::vector<std::string> parts) {
    parts.emplace_back("model.gguf: ");
    test::expect_input_error([&] { open(bytes); }, parts);
  }
  void expect_error(const gguf_bytes& file, std::vector<std::string> parts) {
    expect_error(file.bytes(), std::move(parts));
  }

  test::temporary_folder folder_;
};

TEST_F(GgufFile, ReadsEveryValueType) {
  gguf_bytes bytes{0, 13};
  bytes.key("u8", 0).add(std::uint8_t{200});
  bytes.key("i8", 1).add(std::int8_t{-5});
  bytes.key("u16", 2).add(std::uint16_t{65535});
  bytes.key("i16", 3).add(std::int16_t{-300});
  bytes.u32("u32", 4000000000U);
  bytes.key("i32", 5).add(std::int32_t{-7});
  bytes.f32("f32", 0.25F);
  bytes.key("yes", 7).add(std::uint8_t{1});
  bytes.text("text", "a\xC3\xA9");
  bytes.key("u64", 10).add(std::uint64_t{1} << 40U);
  bytes.key("i64", 11).add(std::int64_t{-1});
  bytes.key("f64", 12).add(0.1);
  bytes.key("list", 9).add(std::uint32_t{8}).add(std::uint64_t{2});
  bytes.string("x").string("");
  const auto file = open(bytes);
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i8"), -5);
  EXPECT_EQ(file.integer("u16"), 65535);
  EXPECT_EQ(file.integer("i16"), -300);
  EXPECT_EQ(file.integer("u32"), 4000000000);
  EXPECT_EQ(file.integer("i32"), -7);
  EXPECT_EQ(file.number("f32"), 0.25);
  EXPECT_EQ(file.number("u8"), 200.0);
  EXPECT_EQ(file.boolean("yes"), true);
  EXPECT_EQ(file.string("text"), "a\xC3\xA9");
  EXPECT_EQ(file.integer("u64"), std::int64_t{1} << 40U);
  EXPECT_EQ(file.integer("i64"), -1);
  EXPECT_EQ(file.number("f64"), 0.1);
  EXPECT_EQ(file.strings("list"), (std::vector<std::string_view>{"x", ""}));
  EXPECT_EQ(file.metadata().size(), 13U);
  EXPECT_FALSE(file.integer("absent"));
  EXPECT_TRUE(file.strings("absent").empty());
}

TEST_F(GgufFile, ReadsArraysOfNumbers) {
  gguf_bytes bytes{0, 3};
  bytes.key("ints", 9).add(std::uint32_t{5}).add(std::uint64_t{2});
  bytes.add(std::int32_t{-1}).add(std::int32_t{9});
  bytes.key("floats", 9).add(std::uint32_t{6}).add(std::uint64_t{1});
  bytes.add(1.5F);
  bytes.key("flags", 9).add(std::uint32_t{7}).add(std::uint64_t{2});
  bytes.add(std::uint8_t{1}).add(std::uint8_t{0});
  const auto file = open(bytes);
  EXPECT_EQ(file.integers("ints"), (std::vector<std::int64_t>{-1, 9}));
  EXPECT_EQ(file.numbers("floats"), std::vector<double>{1.5});
  EXPECT_EQ(file.integers("flags"), (std::vector<std::int64_t>{1, 0}));
}

TEST_F(GgufFile, ReadsTensorsOfVersions2And3) {
  for (const std::uint32_t version : {2U, 3U}) {
    gguf_bytes bytes{2, 0, version};
    bytes.tensor("a", {32, 2}, 8, 0).tensor("b", {3}, 0, 96);
    bytes.data(96 + 12);
    const auto file = open(bytes);
    ASSERT_EQ(file.tensors().size(), 2U);
    EXPECT_EQ(file.tensors()[0].bytes, 68U);
    EXPECT_EQ(file.tensors()[0].type->name, "Q8_0");
    const auto* b = file.find_tensor("b");
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->file_offset, bytes.size() - 12);
    EXPECT_EQ(file.find_tensor("c"), nullptr);
  }
}

TEST_F(GgufFile, HonoursTheAlignmentKey) {
  gguf_bytes bytes{1, 1};
  bytes.u32("general.alignment", 8).tensor("a", {1}, 0, 0);
  auto text = bytes.bytes();
  text.resize((text.size() + 7) / 8 * 8 + 4);
  EXPECT_EQ(open(text).tensors()[0].file_offset, text.size() - 4);
  gguf_bytes odd{0, 1};
  expect_error(odd.u32("general.alignment", 24),
               {"general.alignment", "no power of two"});
}

TEST_F(GgufFile, WrongValueTypesAreNamed) {
  gguf_bytes bytes{0, 2};
  bytes.text("text", "x").key("list", 9).add(std::uint32_t{4});
  bytes.add(std::uint64_t{0});
  const auto file = open(bytes);
  test::expect_input_error([&] { (void)file.integer("text"); },
                           {"model.gguf", "'text'", "string", "an integer"});
  test::expect_input_error([&] { (void)file.string("list"); },
                           {"'list'", "array of u32", "a single value"});
  test::expect_input_error([&] { (void)file.strings("text"); },
                           {"'text'", "not an array"});
  test::expect_input_error([&] { (void)file.require_string("nothing"); },
                           {"'nothing'", "missing"});
}

TEST_F(GgufFile, Header) {
  expect_error("", {"empty"});
  expect_error("GGU", {"offset 0", "truncated"});
  expect_error("GGML" + gguf_bytes{}.bytes().substr(4), {"offset 0", "magic"});
  expect_error(gguf_bytes{0, 0, 1}, {"offset 4", "version 1"});
  expect_error(gguf_bytes{0, 0, 4}, {"offset 4", "version 4"});
  expect_error(gguf_bytes{0, 0, 0x03000000U}, {"offset 4", "big-endian"});
  expect_error(gguf_bytes{}.bytes().substr(0, 23), {"offset 16", "truncated"});
  test::expect_input_error(
      [&] { gguf_file::open(folder_.path() / "absent.gguf"); },
      {"absent.gguf", "cannot be opened"});
  test::expect_input_error([&] { gguf_file::open(folder_.path()); },
                           {"is a directory, not a file"});
}

TEST_F(GgufFile, AbsurdCounts) {
  expect_error(gguf_bytes{huge, 0}, {"offset 8", "absurd tensor count"});
  expect_error(gguf_bytes{0, huge}, {"offset 16", "absurd metadata count"});
  expect_error(gguf_bytes{1U << 30U, 0}, {"absurd tensor count"});
  gguf_bytes key{0, 1};
  key.add(huge).add(std::uint64_t{0});
  expect_error(key, {"offset 24", "metadata key 0"});
  gguf_bytes value{0, 1};
  value.key("k", 8).add(huge - 3);
  expect_error(value, {"truncated", "key 'k'"});
  gguf_bytes strings{0, 1};
  strings.key("k", 9).add(std::uint32_t{8}).add(huge / 2);
  expect_error(strings, {"absurd element count", "key 'k'"});
  gguf_bytes numbers{0, 1};
  numbers.key("k", 9).add(std::uint32_t{10}).add((huge / 8) + 2);
  expect_error(numbers, {"truncated", "key 'k'", "elements of 8 bytes"});
}

TEST_F(GgufFile, Metadata) {
  gguf_bytes twice{0, 2};
  expect_error(twice.u32("k", 1).u32("k", 2),
               {"offset 41", "key 'k' occurs twice"});
  gguf_bytes type{0, 1};
  expect_error(type.key("k", 13).add(std::uint64_t{0}),
               {"offset 33", "unknown value type 13"});
  gguf_bytes nested{0, 1};
  expect_error(nested.key("k", 9).add(std::uint32_t{9}).add(std::uint64_t{0}),
               {"key 'k'", "array of arrays"});
  gguf_bytes boolean{0, 1};
  expect_error(boolean.key("k", 7).add(std::uint8_t{2}).data(0),
               {"key 'k'", "neither 0 nor 1"});
  gguf_bytes empty{0, 1};
  expect_error(empty.u32("", 1), {"offset 24", "empty metadata key"});
  gguf_bytes cut{0, 2};
  expect_error(cut.u32("k", 1).data(3), {"offset"});
}

TEST_F(GgufFile, EveryTruncationIsAnError) {
  gguf_bytes bytes{1, 2};
  bytes.text("name", "value").key("list", 9).add(std::uint32_t{5});
  bytes.add(std::uint64_t{1}).add(std::int32_t{1});
  bytes.tensor("a", {32}, 2, 0).data(18);
  EXPECT_NO_THROW(open(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    expect_error(bytes.bytes().substr(0, size), {});
  }
}

TEST_F(GgufFile, Tensors) {
  const auto one = [](const std::vector<std::uint64_t>& dimensions,
                      std::uint32_t type, std::uint64_t offset,
                      std::size_t data) {
    gguf_bytes bytes{1, 0};
    bytes.tensor("t", dimensions, type, offset).data(data);
    return bytes;
  };
  expect_error(one({32}, 99, 0, 64), {"'t'", "unknown tensor type 99"});
  expect_error(one({32}, 4, 0, 64), {"'t'", "unknown tensor type 4"});
  expect_error(one({}, 0, 0, 64), {"offset 33", "'t'", "0 dimensions"});
  expect_error(one({1, 1, 1, 1, 1}, 0, 0, 64), {"'t'", "5 dimensions"});
  expect_error(one({0}, 0, 0, 64), {"'t'", "dimension 0"});
  expect_error(one({huge}, 0, 0, 64), {"'t'", "dimension -1"});
  expect_error(one({33}, 2, 0, 64), {"'t'", "Q4_0 blocks of 32"});
  expect_error(one({1ULL << 40U, 1ULL << 40U}, 0, 0, 64), {"'t'", "overflows"});
  expect_error(one({1ULL << 62U}, 0, 0, 64), {"'t'", "overflows"});
  expect_error(one({17}, 0, 0, 64), {"'t'", "truncated", "68 bytes"});
  expect_error(one({16}, 0, 32, 64), {"'t'", "truncated"});
  expect_error(one({16}, 0, huge - 31, 64), {"'t'", "truncated"});
  expect_error(one({1}, 0, 4, 64), {"'t'", "alignment"});

  gguf_bytes overlap{2, 0};
  overlap.tensor("a", {16}, 0, 0).tensor("b", {16}, 0, 32).data(128);
  expect_error(overlap, {"tensor 'b' overlaps tensor 'a'", "offset"});
  gguf_bytes twice{2, 0};
  twice.tensor("a", {1}, 0, 0).tensor("a", {1}, 0, 32).data(64);
  expect_error(twice, {"tensor 'a' occurs twice"});
  gguf_bytes name{1, 0};
  name.tensor(std::string(64, 'n'), {1}, 0, 0).data(4);
  expect_error(name, {"offset 24", "64 bytes long"});
}

/// Part `number` of `count` with one tensor named `tensor`.
gguf_bytes part(std::uint16_t number, std::uint16_t count,
                const std::string& tensor) {
  gguf_bytes bytes{1, 3};
  bytes.key("split.no", 2).add(number).key("split.count", 2).add(count);
  bytes.key("split.tensors.count", 5).add(std::int32_t{2});
  bytes.tensor(tensor, {1}, 0, 0).data(4);
  return bytes;
}

TEST_F(GgufFile, SplitModels) {
  const auto first =
      folder_.write("m-00001-of-00002.gguf", part(0, 2, "a").bytes());
  const auto second =
      folder_.write("m-00002-of-00002.gguf", part(1, 2, "b").bytes());
  for (const auto& path : {first, second}) {
    const auto file = gguf_file::open(path);
    ASSERT_EQ(file.tensors().size(), 2U);
    EXPECT_EQ(file.tensors()[0].name, "a");
    EXPECT_EQ(file.tensors()[1].name, "b");
    EXPECT_EQ(file.tensors()[1].part, 1U);
    EXPECT_EQ(file.parts().size(), 2U);
  }
  const auto broken = [&](const gguf_bytes& bytes,
                          const std::vector<std::string>& parts) {
    folder_.write("m-00002-of-00002.gguf", bytes.bytes());
    test::expect_input_error([&] { gguf_file::open(first); }, parts);
  };
  broken(part(0, 2, "b"), {"m-00002-of-00002.gguf", "split.no"});
  broken(part(1, 2, "a"), {"m-00002-of-00002.gguf", "'a'", "earlier part"});
  gguf_bytes none{0, 1};
  broken(none.key("split.no", 2).add(std::uint16_t{1}),
         {"split.tensors.count"});
  std::filesystem::remove(second);
  test::expect_input_error([&] { gguf_file::open(first); },
                           {"m-00002-of-00002.gguf", "cannot be opened"});
  const auto misnamed = folder_.write("other.gguf", part(0, 2, "a").bytes());
  test::expect_input_error([&] { gguf_file::open(misnamed); },
                           {"other.gguf", "split.count"});
}

TEST_F(GgufFile, ReadsARealFile) {
  const auto path = test::cached("models/SmolLM2-135M-Instruct.Q4_1.gguf");
  VOUCH_REQUIRE_CACHED(path);
  const auto file = gguf_file::open(path);
  EXPECT_EQ(file.tensors().size(), 272U);
  EXPECT_EQ(file.string("general.architecture"), "llama");
  EXPECT_EQ(file.strings("tokenizer.ggml.tokens").size(), 49152U);
  EXPECT_EQ(file.strings("tokenizer.ggml.merges").size(), 48900U);
  EXPECT_EQ(file.boolean("tokenizer.ggml.add_bos_token"), false);
}

}  // namespace
}  // namespace vouch
