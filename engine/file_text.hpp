#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace vouch::engine {

/// All of a text file: a template, a conversation, a policy. Throws input_error
/// when it cannot be read or has more than `max_bytes`: a device never ends.
std::string read_file_text(const std::filesystem::path& file,
                           std::size_t max_bytes = std::size_t{64} << 20U);

}  // namespace vouch::engine
