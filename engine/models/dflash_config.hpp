#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/gguf.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/models/model_config.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// What a draft layer's block rows see.
struct dflash_mask {
  /// A key is seen when its distance from the query is less than this (the
  /// query itself counts); 0: any distance.
  std::int32_t window = 0;
  /// Block rows see no block row after them; otherwise all of the block. All
  /// context is older than the block, so only block keys are affected.
  bool causal = false;
};

/// DFlash 2's grouped dynamic convolution inside the block.
struct dflash_convolution {
  std::int32_t kernel_size = 0;
  std::int32_t group_size = 0;
};

/// DFlash 2's walk over the top candidates of each row.
struct dflash_selector {
  std::int32_t rank = 0;
  std::int32_t top_k = 0;
};

/// A DFlash drafter's configuration, whatever file it came from.
struct dflash_config {
  /// What errors name.
  std::string file;
  /// The draft layers. vocab_size is the target's; of head_dim the first
  /// `rotary_dimensions` are rotated.
  model_config shape;
  std::int32_t rotary_dimensions = 0;
  /// Rows in a block, the anchor's included.
  std::int32_t block_size = 16;
  token_id mask_token = 0;
  /// Tapped layers of the target, 0-based, in the order of fc's input; empty:
  /// default_taps.
  std::vector<std::int32_t> taps;
  /// Decoder layers of the target; 0 when the file does not tell.
  std::int32_t target_layers = 0;
  /// Width of one tap.
  std::int64_t tap_width = 0;
  /// One a layer.
  std::vector<dflash_mask> masks;
  float embedding_scale = 1;
  float output_multiplier = 1;
  /// logits = cap * tanh(logits / cap); 0: none.
  float softcap = 0;
  float value_scale = 1;
  /// The anchor's row proposes too: row k is for the position after its own.
  /// Otherwise the mask rows propose, each for its own position.
  bool sample_from_anchor = false;
  /// Rotary embedding pairs neighbours in the file; halves in memory.
  bool interleaved_rope = false;
  /// Rows of an own, smaller vocabulary with its own head; 0: none.
  std::int64_t draft_vocab_size = 0;
  std::optional<dflash_convolution> convolution;
  std::optional<dflash_selector> selector;
  /// Rank of DSpark's Markov head; 0: none.
  std::int32_t markov_rank = 0;
  /// A feature that these forms do not compute, in words; empty: none.
  std::string unsupported;

  /// Block rows beyond the proposals themselves.
  std::int32_t silent_rows() const { return sample_from_anchor ? 0 : 1; }
};

/// True when a config.json is a DFlash drafter's: `model_type` does not tell.
bool is_dflash(const json_object& config);
bool is_dflash(const gguf_file& file);

/// A value that dflash_config names under `dflash_config` or at the top level
/// is taken from there in this order. Throws input_error naming file and field.
dflash_config read_dflash_config(const json_object& config);
/// The same from a GGUF file of architecture "dflash".
dflash_config read_dflash_config(const gguf_file& file);

/// What both forms must satisfy. Throws input_error.
void check_dflash_config(const dflash_config& config);

/// As many layers as the drafter has, evenly spaced from 1 to the target's
/// last but two, halves rounded to even; the middle one for a single layer.
std::vector<std::int32_t> default_taps(std::int32_t target_layers,
                                       std::int32_t draft_layers);

}  // namespace vouch::engine
