#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/options.hpp"
#include "cli/bench/spread.hpp"

namespace vouch::cli::bench {

/// One line of the results.
struct figure {
  part what{};
  /// Tokens of the prompt (prefill) or of context (contexts), sequences
  /// (decode, sampled, plans) or rows (verify).
  std::int32_t size = 0;
  /// Tokens that `seconds` gives.
  std::int32_t tokens = 0;
  /// Of a step; of the whole prompt for prefill, which is the time to its
  /// first token.
  spread seconds;
  /// plans: of the plan `invariant`, where `seconds` is of `fast`.
  std::optional<spread> base_seconds;
  /// verify: time in units of a step of one row. sampled: greedy's time by
  /// this one's. plans: fast's time by invariant's. Neighbours in the same
  /// round.
  std::optional<spread> ratio;
  /// Of the median: bytes read a second by the read limit (decode, contexts),
  /// multiply-adds by the dot limit (prefill).
  std::optional<double> share;
};

/// Where the time of one kind of step went.
struct part_times {
  /// "decode 1", "verify 8", "prefill 512": what, and its size.
  std::string step;
  /// Median seconds a step, by engine::step_part.
  std::vector<double> seconds;
  /// Of the whole step, as its device saw it, and as the caller did.
  double device = 0.0;
  double wall = 0.0;
};

struct results {
  std::string model;
  std::string path;
  std::string device;
  int threads = 0;
  /// As the model could hold it.
  std::int32_t depth = 0;
  /// Read in every step: matrices of the layers and of the head.
  std::uint64_t weight_bytes = 0;
  /// Bytes of K and V of one token, all layers.
  std::uint64_t kv_token_bytes = 0;
  /// Multiply-adds of one prompt row with quantised weights.
  std::uint64_t row_multiply_adds = 0;
  /// Bytes a second; operations a second.
  spread read_limit;
  spread dot_limit;
  std::uint64_t read_probe_bytes = 0;
  std::optional<spread> load_seconds;
  std::vector<figure> figures;
  std::vector<part_times> parts;
};

/// Runs everything in alternating rounds. Throws engine::input_error when the
/// model cannot be used or cannot hold what was asked for.
results measure(const options& chosen);

/// A table for people; one JSON object.
void print_text(const options& chosen, const results& found);
void print_json(const options& chosen, const results& found);

}  // namespace vouch::cli::bench
