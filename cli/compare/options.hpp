#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vouch::cli::compare {

struct options {
  /// A model to run in this process, or servers.
  std::string model;
  std::vector<std::string> urls;

  std::vector<std::string> drafters{"lookup"};
  std::vector<int> widths{4};
  /// Runs of each configuration, the classic one too.
  int runs = 2;
  std::string prompts_file;
  std::int64_t max_tokens = 96;
  /// Requests at once.
  int parallel = 1;
  double temperature = 0.0;
  double top_p = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  double repetition_penalty = 1.0;
  std::uint64_t seed = 1;
  /// Compare hashes of logits too.
  bool bytes = false;

  // In process.
  std::string plan = "invariant";
  std::vector<std::string> faults;
  std::int32_t threads = 0;
  std::string cpu_list;

  // Over HTTP.
  std::string api_key;
  /// The server's transcript, which says what was accepted where.
  std::string transcript;

  std::string json_file;
};

}  // namespace vouch::cli::compare
