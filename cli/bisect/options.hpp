#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vouch::cli::bisect {

struct options {
  std::string model;

  // What is played again: one of the first three, else a prompt.
  std::string transcript;
  std::string evidence;
  std::string op;
  std::string request;
  std::int64_t choice = 0;
  /// Tokens of the transcript's sequences.
  std::string text;
  std::string prompt;
  std::int64_t prompt_tokens = 40;
  std::int64_t rows = 64;
  int width = 4;
  std::string pattern = "mixed";
  int beside = 0;
  bool walk = false;
  double temperature = 0.0;

  std::vector<std::string> types;
  int draws = 3;

  std::string plan = "invariant";
  std::vector<std::string> faults;
  std::int32_t threads = 0;
  std::string kv_type = "f16";
  std::int64_t chunk = 256;
  std::uint64_t seed = 1;
  std::string json_file;
};

}  // namespace vouch::cli::bisect
