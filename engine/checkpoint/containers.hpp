#pragma once

#include <filesystem>
#include <memory>

#include "engine/checkpoint/checkpoint.hpp"

namespace vouch::engine {

/// The two kinds of checkpoint behind open_checkpoint. Both throw input_error.
std::shared_ptr<checkpoint> open_gguf_file(const std::filesystem::path& path);
std::shared_ptr<checkpoint> open_safetensors_folder(
    const std::filesystem::path& path);

}  // namespace vouch::engine
