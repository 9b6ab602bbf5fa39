#include "cli/text_input.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/error.hpp"

namespace vouch::cli {

namespace {

/// No template and no conversation is larger; a device that never ends is.
constexpr std::size_t max_file_bytes = std::size_t{64} << 20;

}  // namespace

std::string read_all(const std::string& path) {
  using iterator = std::istreambuf_iterator<char>;
  if (path == "-") {
    return {iterator{std::cin}, {}};
  }
  std::ifstream in{path, std::ios::binary};
  if (!in) {
    throw engine::input_error(path, std::strerror(errno));
  }
  std::string text;
  for (iterator at{in}; at != iterator{}; ++at) {
    if (text.size() == max_file_bytes) {
      throw engine::input_error(path, "is larger than 64 MiB");
    }
    text += *at;
  }
  if (in.bad()) {
    throw engine::input_error(path, "cannot be read");
  }
  return text;
}

std::string given_or_stdin(const std::string& given, bool was_given) {
  return was_given ? given : read_all("-");
}

}  // namespace vouch::cli
