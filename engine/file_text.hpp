#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace vouch::engine {

/// What a text file may have at most: a mistake in a name can lead to a device
/// that never ends.
inline constexpr std::size_t max_text_bytes = std::size_t{64} << 20U;

/// All of a text file that is a part of a model or a configuration: a template,
/// a policy. Throws input_error when it is no regular file, cannot be read or
/// has more than `max_bytes`.
std::string read_file_text(const std::filesystem::path& file,
                           std::size_t max_bytes = max_text_bytes);

/// The same for a text that a person names on the command line, where a pipe
/// is welcome (`<(command)`): waits for its writer.
std::string read_input_text(const std::filesystem::path& file,
                            std::size_t max_bytes = max_text_bytes);

}  // namespace vouch::engine
