#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vouch::cli::probe {

struct options {
  std::string model;
  std::string drafter = "none";
  std::vector<int> widths{2, 3, 4, 5, 6, 7, 8};
  std::int64_t walk = 256;
  std::int64_t prompt_tokens = 0;
  std::int64_t positions = 1024;
  /// Go on to the end of the context.
  bool all_positions = false;
  std::int64_t rows = 0;
  std::string prompts_file;
  std::string plan = "invariant";
  std::vector<std::string> faults;
  std::int32_t threads = 0;
  std::string cpu_list;
  std::string kv_type = "f16";
  std::int64_t kv_memory_mib = 1024;
  std::int32_t max_context = 0;
  std::int32_t step_tokens = 512;
  std::int32_t chunk = 256;
  std::uint64_t seed = 1;
  std::string json_file;
  std::string verdicts;
  bool clear = false;
};

}  // namespace vouch::cli::probe
