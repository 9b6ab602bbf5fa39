#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/executor/device_drafter.hpp"
#include "engine/models/model.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/speculation/scripted_drafter.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::engine {

struct drafter_choice {
  /// - "" or "none": no drafter.
  /// - "lookup": prompt lookup.
  /// - "scripted:SCRIPT": drafts of a known quality, for tests and for pricing
  ///   (parse_script says how SCRIPT is spelt). "scripted:SCRIPT over PATH"
  ///   lets the drafter at PATH run beside it, its proposals overwritten.
  /// - else a path: a DFlash drafter's folder or GGUF file, or a small model of
  ///   a supported family with the target's vocabulary. The files say which.
  std::string name;
  /// Sequences that can be open at once, and the tokens of context of one
  /// (0: no limit but the drafter's own).
  std::int32_t slots = 64;
  std::int32_t context = 0;
  /// What a drafter's contexts, or its K and V, may take.
  std::size_t context_bytes = std::size_t{1} << 30;
  /// Tokens of prompts that a draft model reads in one call.
  std::int32_t catch_up = 512;
  /// For DFlash checkpoints that do not say it.
  std::optional<bool> sample_from_anchor;
  /// Lengths of the n-grams that prompt lookup looks for.
  int lookup_min = 2;
  int lookup_max = 4;
  /// Of prompt lookup's hashes; drawn by the system's generator when absent.
  std::optional<std::uint64_t> lookup_key;
  /// Stands in for a scripted drafter's file.
  draft_oracle oracle;
  std::uint64_t script_seed = 0;
};

/// Never fails a server: files that are broken, of another family, shape or
/// vocabulary decline with drafter_mismatch and the words that say what is
/// wrong where. `words` is the target's tokenizer, or nullptr.
drafter_load load_drafter(const drafter_choice& choice, const model& target,
                          const tokenizer* words, kernels::thread_pool& pool);

}  // namespace vouch::engine
