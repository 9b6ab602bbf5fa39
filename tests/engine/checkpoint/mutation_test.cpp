// Files with a few wrong bytes: whatever they say, opening and loading either
// works or ends in input_error; nothing else escapes, and nothing is read out
// of bounds (the address sanitizer's run of this test).

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/models/model.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch {
namespace {

/// Opens and loads `path`; true when the file was refused.
bool refused(const std::filesystem::path& path, kernels::thread_pool& pool) {
  try {
    engine::load_model(*engine::open_checkpoint(path), pool);
    return false;
  } catch (const engine::input_error&) {
    return true;
  }
}

/// Writes 1 to 4 random bytes within the first `range` of `original`.
std::string mutate(std::string original, std::size_t range,
                   std::mt19937& random) {
  const auto count = 1 + random() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    original[random() % range] = static_cast<char>(random());
  }
  return original;
}

TEST(Mutation, GgufHeaders) {
  const auto original = test::read_file(test::fixture("llama_tiny.gguf"));
  const test::temporary_folder folder;
  kernels::thread_pool pool{1};
  std::mt19937 random{1};
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    // The metadata's start, and the whole header with its tensor list.
    const std::size_t range = i % 2 == 0 ? 1000 : original.size() - 98'000;
    const auto bytes = mutate(original, range, random);
    refusals += refused(folder.write("m.gguf", bytes), pool) ? 1 : 0;
  }
  EXPECT_GT(refusals, 50);
}

TEST(Mutation, SafetensorsHeaders) {
  const test::temporary_folder folder;
  for (const auto* name : {"config.json", "generation_config.json",
                           "tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(test::fixture(std::string{"llama_tiny/"} + name),
                               folder.path() / name);
  }
  const auto original =
      test::read_file(test::fixture("llama_tiny/model.safetensors"));
  kernels::thread_pool pool{1};
  std::mt19937 random{2};
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    folder.write("model.safetensors", mutate(original, 2000, random));
    refusals += refused(folder.path(), pool) ? 1 : 0;
  }
  EXPECT_GT(refusals, 200);
}

TEST(Mutation, Configurations) {
  const test::temporary_folder folder;
  std::filesystem::copy_file(test::fixture("llama_tiny/model.safetensors"),
                             folder.path() / "model.safetensors");
  const auto original =
      test::read_file(test::fixture("llama_tiny/config.json"));
  kernels::thread_pool pool{1};
  std::mt19937 random{3};
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    folder.write("config.json", mutate(original, original.size(), random));
    refusals += refused(folder.path(), pool) ? 1 : 0;
  }
  EXPECT_GT(refusals, 100);
}

}  // namespace
}  // namespace vouch
