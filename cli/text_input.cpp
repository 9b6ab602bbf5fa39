#include "cli/text_input.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/error.hpp"

namespace vouch::cli {

std::string read_all(const std::string& path) {
  using iterator = std::istreambuf_iterator<char>;
  if (path == "-") {
    return {iterator{std::cin}, {}};
  }
  std::ifstream in{path, std::ios::binary};
  if (!in) {
    throw engine::input_error(path, std::strerror(errno));
  }
  std::string text{iterator{in}, {}};
  if (in.bad()) {
    throw engine::input_error(path, "cannot be read");
  }
  return text;
}

std::string given_or_stdin(const std::string& given, bool was_given) {
  return was_given ? given : read_all("-");
}

}  // namespace vouch::cli
