#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::cli::bench {

/// What `vouch bench` can measure; the machine's limits come with all of them.
enum class part : std::uint8_t {
  load,
  prefill,
  decode,
  verify,
  sampled,
  contexts,
  parts
};

/// Their names, in the order of `part`.
inline constexpr std::array<std::string_view, 7> part_names{
    "load", "prefill", "decode", "verify", "sampled", "contexts", "parts"};

struct options {
  std::string model;
  std::string target;
  std::string kv_type = "f16";
  std::int32_t threads = 0;
  std::string cpu_list;
  std::int32_t repeat = 5;
  /// Steps of a figure in each round.
  std::int32_t tokens = 32;
  /// Tokens in a sequence's context when its first step is timed.
  std::int32_t depth = 128;
  /// Tokens of the prompt that is timed, and of a step that computes it.
  std::int32_t prompt = 512;
  std::int32_t chunk = 512;
  std::vector<std::int32_t> batches{1, 2, 4, 8, 16, 32};
  std::vector<std::int32_t> widths{1, 2, 3, 4, 6, 8, 16};
  std::vector<std::int32_t> sampled{1, 8};
  std::vector<std::int32_t> contexts{512, 2048, 8192};
  /// Whether they were given: a default that a small model cannot hold is
  /// left out or shortened, what was asked for is an error.
  bool prompt_given = false;
  bool depth_given = false;
  bool contexts_given = false;
  std::vector<std::string> only;
  bool as_json = false;

  bool wants(part which) const;
};

}  // namespace vouch::cli::bench
