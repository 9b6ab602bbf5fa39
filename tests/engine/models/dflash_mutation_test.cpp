// Drafters with a few wrong bytes: whatever they say, loading them works, ends
// in a decline or in input_error, and what was loaded drafts; nothing else
// escapes, and nothing is read out of bounds (the address sanitizer's run).

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "tests/engine/models/dflash_fixture.hpp"

namespace vouch {
namespace {

struct counts {
  int loaded = 0;
  int declined = 0;
  int refused = 0;
};

void try_drafter(test::dflash_world& world, const std::filesystem::path& path,
                 counts& seen) {
  try {
    auto result = world.load(path);
    auto* drafter = std::get_if<std::unique_ptr<engine::dflash>>(&result);
    if (drafter == nullptr) {
      ++seen.declined;
      EXPECT_FALSE(std::get<engine::dflash_declined>(result).words.empty());
      return;
    }
    ++seen.loaded;
    const auto taps = world.taps(**drafter, {5, 6, 7});
    auto context = (*drafter)->new_context();
    (*drafter)->append(context, taps.data(), 3, world.pool);
    (*drafter)->propose(context, 9, 7, world.target.model(), world.pool);
  } catch (const engine::input_error&) {
    ++seen.refused;
  }
}

std::string mutate(std::string original, std::size_t range,
                   std::mt19937& random) {
  const auto count = 1 + random() % 3;
  for (std::size_t i = 0; i < count; ++i) {
    original[random() % range] = static_cast<char>(random());
  }
  return original;
}

/// Digits, names and punctuation give other configurations than noise does.
std::string swap_digit(std::string original, std::mt19937& random) {
  const std::string digits = "0123456789";
  for (;;) {
    auto& byte = original[random() % original.size()];
    if (digits.find(byte) == std::string::npos) continue;
    byte = digits[random() % digits.size()];
    return original;
  }
}

TEST(DflashMutation, Configurations) {
  test::dflash_world world{1};
  std::mt19937 random{4};
  counts seen;
  for (const auto* form : {"full", "second", "sliding_mixed", "own_vocabulary",
                           "markov", "mask_row"}) {
    const auto folder = test::dflash_folder(form);
    const auto original = test::read_file(folder.path() / "config.json");
    for (int i = 0; i < 120; ++i) {
      folder.write("config.json",
                   i % 2 == 0 ? mutate(original, original.size(), random)
                              : swap_digit(original, random));
      try_drafter(world, folder.path(), seen);
    }
  }
  EXPECT_GT(seen.loaded, 20);
  EXPECT_GT(seen.declined, 20);
  EXPECT_GT(seen.refused, 50);
}

TEST(DflashMutation, Files) {
  test::dflash_world world{1};
  const test::temporary_folder folder;
  std::mt19937 random{5};
  counts seen;
  for (const auto* name : {"full.gguf", "second.gguf"}) {
    const auto original = test::read_file(test::dflash_fixture(name));
    for (int i = 0; i < 200; ++i) {
      const auto path = folder.write("m.gguf", mutate(original, 3000, random));
      try_drafter(world, path, seen);
    }
  }
  const auto other = test::dflash_folder("own_vocabulary");
  const auto original =
      test::read_file(test::dflash_fixture("own_vocabulary/model.safetensors"));
  std::filesystem::remove(other.path() / "model.safetensors");
  for (int i = 0; i < 200; ++i) {
    other.write("model.safetensors", mutate(original, 3600, random));
    try_drafter(world, other.path(), seen);
  }
  EXPECT_GT(seen.loaded, 20);
  EXPECT_GT(seen.declined, 20);
  EXPECT_GT(seen.refused, 50);
}

}  // namespace
}  // namespace vouch
