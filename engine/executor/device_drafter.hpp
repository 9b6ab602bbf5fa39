#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "engine/models/model.hpp"
#include "engine/sampling/sampling_params.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// One sequence's rows of a step that was run.
struct stepped_rows {
  slot_id slot = -1;
  /// Of the first row.
  std::int32_t position = 0;
  /// The rows' input, one token a row.
  std::span<const token_id> tokens;
  /// The slot's tokens of positions 0 ... position - 1.
  std::span<const token_id> before;
  /// [tokens][taps * hidden size]; nullptr for a drafter that taps nothing.
  const float* taps = nullptr;
};

/// One sequence's part of a proposal.
struct device_draft_job {
  slot_id slot = -1;
  /// The slot's tokens of positions 0 ... size - 1, where the anchor stands at
  /// position `size`.
  std::span<const token_id> history;
  token_id anchor = -1;
  /// Of the verify block; at least 2 and at most max_width().
  int width = 2;
  /// How the sequence picks (without log-probabilities), so that a drafter can
  /// pick alike, with the same noise; empty: greedily.
  std::optional<sampling_params> sampling = {};
  std::int64_t prompt_tokens = 0;
  draft result = {};
  /// Not empty: why result holds nothing, for a person.
  std::string problem = {};
};

/// A drafter that runs a model of its own on the executor's device, hosted by
/// what runs the steps. It keeps a context for each slot and is called by one
/// thread, between steps. Belongs to one executor at a time.
class device_drafter {
 public:
  virtual ~device_drafter() = default;

  virtual drafter_kind kind() const = 0;
  /// The widest block it can draft for, in rows (its drafts and the anchor).
  virtual int max_width() const = 0;
  /// For logs: "dflash drafter.gguf, 5 layers, block of 16".
  virtual std::string description() const = 0;
  /// Identifies its weights in the gate's scope; empty: none.
  virtual std::string fingerprint() const { return {}; }
  /// Layers of the target whose hidden rows after_step wants, in this order.
  virtual std::span<const std::int32_t> taps() const { return {}; }
  /// Bytes held for the slots' contexts.
  virtual std::size_t context_bytes() const = 0;

  /// A new sequence in `slot`; whatever was known of an old one is gone.
  virtual void open(slot_id slot) = 0;
  virtual void release(slot_id slot) = 0;

  /// Sees the rows of every step, in order and before their picks are known:
  /// prompt, decode and verify rows, those of rejected drafts included. Rows at
  /// a position that was seen before replace what stood there and behind. When
  /// it throws, the slots it was called for are opened anew.
  virtual void after_step(std::span<const stepped_rows> items,
                          kernels::thread_pool& pool) = 0;

  /// Fills in the jobs' results, each of another open slot.
  virtual void propose(std::span<device_draft_job> jobs, model& target,
                       kernels::thread_pool& pool) = 0;
};

}  // namespace vouch::engine
