#include "engine/file_text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "engine/error.hpp"
#include "engine/regular_file.hpp"

namespace vouch::engine {

std::string read_file_text(const std::filesystem::path& file,
                           std::size_t max_bytes) {
  const regular_file checked{file};
  return read_input_text(file, max_bytes);
}

std::string read_input_text(const std::filesystem::path& file,
                            std::size_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw input_error{file.string(), "is a directory, not a file"};
  }
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in) {
    throw input_error{file.string(),
                      std::string{"cannot be opened: "} + std::strerror(errno)};
  }
  std::string text;
  std::array<char, 65536> part{};
  while (in) {
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      throw input_error{
          file.string(),
          "is larger than " + std::to_string(max_bytes >> 20U) + " MiB"};
    }
  }
  if (in.bad()) throw input_error{file.string(), "cannot be read"};
  return text;
}

}  // namespace vouch::engine
