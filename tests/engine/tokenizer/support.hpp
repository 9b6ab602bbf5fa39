#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "engine/tokenizer/json_reader.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {

using engine::encode_options;
using engine::token_id;

inline std::vector<token_id> ids_of(const engine::json_node& node) {
  std::vector<token_id> out;
  for (const auto& item : node.items()) {
    out.push_back(static_cast<token_id>(item.integer()));
  }
  return out;
}

/// No BOS or EOS added.
inline encode_options plain() {
  encode_options options;
  options.add_special_tokens = false;
  return options;
}

inline std::filesystem::path vocabulary_file(const std::string& name) {
  return cached("test-data/vocabularies/ggml-vocab-" + name + ".gguf");
}

/// Text that hurts: characters of every class, close together.
inline std::string nasty_text(std::mt19937& rng, unsigned most) {
  static const std::vector<std::string> pool = {
      "a",  "Z",    "s",    "é",      "ß",      " ",      " ",      "\t",
      "\n", "\r",   "\r\n", "'",      "'s",     "'LL",    "'re",    ".",
      "!",  "_",    "-",    "0",      "12",     "½",      "४",      "Ⅷ",
      "中", "文",   "क",    "\u0301", "\u0940", "\u00a0", "\u3000", "\u2028",
      "한", "👍",    "🏽", "\u200b", "\x85",   "<|",     "|>",     "the",
      "  ", "\x1c", "ᄒ",   "ᅡ",     "ᆫ",     "\x7f",   "Å",      "\u0327"};
  std::string out;
  for (unsigned n = rng() % (most + 1); n > 0; --n) {
    const std::string& part = pool[rng() % pool.size()];
    // "\x85" above is the character U+0085.
    out += part == "\x85" ? "\xC2\x85" : part;
  }
  return out;
}

/// A folder of its own, removed in the end.
class scratch_folder {
 public:
  scratch_folder()
      : path_{std::filesystem::temp_directory_path() /
              ("vouch-tokenizer-" + std::to_string(std::random_device{}()))} {
    std::filesystem::create_directories(path_);
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::filesystem::path write(const std::string& name,
                              std::string_view text) const {
    std::ofstream{path_ / name, std::ios::binary} << text;
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace vouch::test
