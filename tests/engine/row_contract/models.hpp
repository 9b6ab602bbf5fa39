#pragma once

#include <filesystem>
#include <memory>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/models/model.hpp"

namespace vouch::test {

/// Loads a checkpoint's model.
inline std::shared_ptr<engine::model> load(const std::filesystem::path& path) {
  kernels::thread_pool pool{2};
  return engine::load_model(*engine::open_checkpoint(path), pool);
}

/// One of the committed checkpoints with random weights.
inline const char* const tiny_checkpoint = "llama_tiny.gguf";
/// The real model that tools/fetch-model lays into the cache folder.
inline const char* const real_checkpoint =
    "models/SmolLM2-135M-Instruct.Q4_1.gguf";

}  // namespace vouch::test
