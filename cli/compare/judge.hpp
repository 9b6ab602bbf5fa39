#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/compare/arm.hpp"

namespace vouch::cli::compare {

/// How one answer differs from the classic one.
struct difference {
  std::size_t prompt = 0;
  /// The first token that differs; -1: none, only what follows here.
  std::int64_t token = -1;
  std::string classic;
  std::string here;
  /// The first token whose logits differ though all tokens up to it are equal;
  /// -1: none.
  std::int64_t row = -1;
};

struct verdict {
  std::string name;
  int run = 1;
  bool classic = false;
  std::int64_t answers = 0;
  std::int64_t equal_texts = 0;
  /// sha256 of all texts, each with its length before it.
  std::string sha256;
  /// Log-probabilities before the first token that differs, that one's not
  /// among them: equal, one float32 apart, further apart.
  std::int64_t logprobs_equal = 0;
  std::int64_t logprobs_one_step = 0;
  std::int64_t logprobs_further = 0;
  /// Rows whose hashes were compared; of these, that differ.
  std::int64_t rows = 0;
  std::int64_t rows_differ = 0;
  std::vector<difference> differences;
  /// Why the arm fails, in words; empty: it holds.
  std::vector<std::string> failures;

  bool holds() const { return failures.empty(); }
};

/// Judges an arm by the first classic one. A text that is empty, an arm in
/// which nothing was verified, or with `bytes` nothing was hashed, fails.
verdict judge(const arm& classic, const arm& tried, bool bytes);

/// Hex digits.
std::string sha256_of(const arm& of);

}  // namespace vouch::cli::compare
