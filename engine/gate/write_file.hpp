#pragma once

#include <filesystem>
#include <string>

namespace vouch::engine {

/// Replaces a file as a whole: written beside it, flushed, renamed, the folder
/// flushed. Throws std::system_error naming the file.
void write_through(const std::filesystem::path& file, const std::string& text,
                   unsigned mode = 0644);

}  // namespace vouch::engine
