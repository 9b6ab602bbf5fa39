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
  parts,
  plans
};

/// Their names, in the order of `part`.
inline constexpr std::array<std::string_view, 8> part_names{
    "load",    "prefill",  "decode", "verify",
    "sampled", "contexts", "parts",  "plans"};

struct options {
  std::string model;
  std::string target;
  std::string kv_type = "f16";
  /// Of everything but `plans`, which has both.
  std::string plan = "invariant";
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
  bool tokens_given = false;
  bool widths_given = false;
  bool streams_given = false;
  std::vector<std::string> only;
  bool as_json = false;
  /// Instead of parts: whole texts, with drafts that are right with probability
  /// `accept`, at each number of streams.
  bool sweep = false;
  bool price_list = false;
  std::vector<std::int32_t> streams{1};
  double accept = 0.8;

  /// Without `only`: all, but `plans` only where --plan is not the default.
  bool wants(part which) const;
  /// With `sweep` or `price_list`: what was not given becomes what is usual
  /// there. Throws input_error for widths that no block has.
  void set_arm_defaults();
};

}  // namespace vouch::cli::bench
