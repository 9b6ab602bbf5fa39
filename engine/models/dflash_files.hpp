#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/dflash_config.hpp"

namespace vouch::engine {

/// A DFlash drafter on disk. Its tensors go by the names that published
/// safetensors give them, without a "model." in front, whatever the container
/// or the vendor called them ("fc.weight", "layers.0.self_attn.q_proj.weight").
class dflash_files : public checkpoint {
 public:
  virtual const dflash_config& drafter() const = 0;
  /// The target's id for each id of the drafter's own vocabulary; empty when it
  /// has none.
  virtual const std::vector<token_id>& draft_to_target() const = 0;
};

/// Opens a safetensors folder or a GGUF file; nullptr when it is readable but
/// no DFlash drafter's. Throws input_error.
std::shared_ptr<const dflash_files> open_dflash(
    const std::filesystem::path& path);

}  // namespace vouch::engine
