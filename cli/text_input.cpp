#include "cli/text_input.hpp"

#include <iostream>
#include <iterator>

#include "engine/file_text.hpp"

namespace vouch::cli {

std::string read_all(const std::string& path) {
  using iterator = std::istreambuf_iterator<char>;
  if (path == "-") {
    return {iterator{std::cin}, {}};
  }
  return engine::read_input_text(path);
}

std::string given_or_stdin(const std::string& given, bool was_given) {
  return was_given ? given : read_all("-");
}

}  // namespace vouch::cli
