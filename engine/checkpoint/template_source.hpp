#pragma once

#include <filesystem>
#include <string>

namespace vouch::engine {

/// The chat template that `path` carries, without loading a model: a GGUF file
/// (a vocabulary alone is enough), a model folder, or a tokenizer.json beside
/// its template. Empty when there is none. Throws input_error.
std::string find_chat_template(const std::filesystem::path& path);

}  // namespace vouch::engine
