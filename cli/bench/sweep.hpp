#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench/options.hpp"
#include "cli/bench/spread.hpp"

namespace vouch::cli::bench {

/// What an arm came to, all rounds together.
struct arm_result {
  std::string name;
  std::string plan;
  /// Rows of a verify block; 1: classic.
  int width = 1;
  /// Tokens a second, of all streams.
  spread rate;
  /// To classic of the plan `invariant`, or of --plan in a sweep; and to
  /// classic of the plan `fast`, in a price list.
  spread ratio;
  bool resolved = false;
  spread fast_ratio;
  bool fast_resolved = false;
  /// That a verified block emits; 0 in a classic arm.
  double block_tokens = 0.0;
  /// A step's time in units of a classic step of the same plan.
  double step_units = 1.0;
  /// Seconds of the drafter a step.
  double drafter_seconds = 0.0;
  /// The ratio that the script, step_units and the drafter's time predict.
  double predicted = 1.0;
  /// Of draft 0, 1, ..., given that those before it were accepted.
  std::vector<double> acceptance;
  /// Streams with the text of the first arm.
  int equal_texts = 0;
};

/// A session: arms beside each other at one number of streams.
struct session_result {
  std::int32_t streams = 1;
  spread opening;
  spread closing;
  double floor = 0.0;
  bool drifted = false;
  std::vector<arm_result> arms;
  /// Every arm that promises the bytes of classic has its text.
  bool texts_hold = true;
};

struct sweep_results {
  std::string model;
  std::string path;
  /// Of each plan that ran.
  std::vector<std::string> devices;
  /// program_fingerprint().
  std::string program;
  std::int32_t tokens = 0;
  std::int32_t prompt = 0;
  std::vector<session_result> sessions;

  bool texts_hold() const;
};

/// --sweep: classic, classic again (the null arm), and each width, with drafts
/// from a script. --price-list: A classic on `fast`, B bursts on `invariant`, D
/// bursts on `fast` although they are inexact, beside classic on `invariant`.
/// Throws engine::input_error.
sweep_results run_sweep(const options& chosen);

void print_sweep_text(const options& chosen, const sweep_results& found);
void print_sweep_json(const options& chosen, const sweep_results& found);

}  // namespace vouch::cli::bench
