#include "engine/checkpoint/safetensors.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/engine/checkpoint/safetensors_bytes.hpp"
#include "tests/support/expect_input_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

using engine::safetensors_file;
using test::safetensors_bytes;

class SafetensorsFile : public ::testing::Test {
 protected:
  safetensors_file open(const std::string& bytes) {
    return safetensors_file{folder_.write("x.safetensors", bytes)};
  }
  void expect_error(const std::string& bytes, std::vector<std::string> parts) {
    parts.emplace_back("x.safetensors: ");
    test::expect_input_error([&] { open(bytes); }, parts);
  }
  void expect_header_error(const std::string& header, std::size_t data,
                           std::vector<std::string> parts) {
    expect_error(safetensors_bytes(header, data), std::move(parts));
  }

  test::temporary_folder folder_;
};

TEST_F(SafetensorsFile, ReadsTensorsInOffsetOrder) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )";
  const auto file = open(safetensors_bytes(header, 16));
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_TRUE(file.tensors()[0].shape.empty());
  EXPECT_EQ(file.tensors()[1].name, "none");
  EXPECT_EQ(file.tensors()[1].bytes, 0U);
  EXPECT_EQ(file.tensors()[2].name, "b");
  EXPECT_EQ(file.tensors()[2].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.tensors()[2].file_offset, 8 + header.size() + 4);
}

TEST_F(SafetensorsFile, Header) {
  expect_error("", {"empty"});
  expect_error("1234567", {"offset 0", "truncated"});
  expect_error(std::string(8, '\xFF'), {"offset 0", "absurd header length"});
  expect_error(safetensors_bytes("{}", 0).substr(0, 9),
               {"offset 8", "truncated"});
  expect_error(safetensors_bytes("", 4), {"offset 8", "'{'"});
  expect_header_error(" {}", 0, {"offset 8", "'{'"});
  expect_header_error("{]", 0, {"offset 8", "not valid JSON"});
  expect_header_error(R"({"a":7})", 0, {"'a'", "not an object"});
}

TEST_F(SafetensorsFile, Tensors) {
  const auto tensor = [](const std::string& fields) {
    return "{\"t\":{" + fields + "}}";
  };
  expect_header_error(
      tensor(R"("dtype":"Q9","shape":[1],"data_offsets":[0,4])"), 4,
      {"'t'", "unknown element type 'Q9'"});
  expect_header_error(tensor(R"("shape":[1],"data_offsets":[0,4])"), 4,
                      {"'t'", "element type"});
  expect_header_error(tensor(R"("dtype":"F32","data_offsets":[0,4])"), 4,
                      {"'t.shape'", "not a list"});
  expect_header_error(tensor(R"("dtype":"F32","shape":[1])"), 4,
                      {"'t.data_offsets'"});
  expect_header_error(
      tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), 4,
      {"'t.data_offsets'", "begin <= end"});
  expect_header_error(
      tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), 4,
      {"'t'", "negative"});
  expect_header_error(
      tensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), 4,
      {"'t.shape'", "integer"});
  expect_header_error(
      tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4,
      {"'t'", "span 4 bytes", "take 8"});
  expect_header_error(
      tensor(
          R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4])"),
      4, {"'t'", "overflows"});
  expect_header_error(
      tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"), 1,
      {"'t'", "whole number of bytes"});
  expect_header_error(
      tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 4,
      {"'t'", "truncated", "offset 8"});
}

TEST_F(SafetensorsFile, TensorsTileTheData) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_NO_THROW(open(safetensors_bytes(two("[4,8]", "[0,4]"), 8)));
  expect_header_error(two("[0,4]", "[5,9]"), 9, {"'b'", "after a hole"});
  expect_header_error(two("[0,4]", "[3,7]"), 7,
                      {"'b'", "inside the tensor before"});
  expect_header_error(two("[0,4]", "[4,8]"), 10,
                      {"offset", "2 bytes after the last tensor"});
  expect_header_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                      2, {"'a'", "occurs twice"});
}

}  // namespace
}  // namespace vouch
