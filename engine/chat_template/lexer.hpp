#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::engine::jinja {

/// A template that does not parse.
struct syntax_error : std::runtime_error {
  syntax_error(int at, const std::string& message)
      : std::runtime_error(message), line(at) {}
  int line;
};

enum class token_type {
  data,  // text outside of tags
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  string,  // text has its escapes resolved
  integer,
  floating,
  op,  // an operator or a bracket
  end
};

struct token {
  token_type type = token_type::end;
  std::string text;
  int line = 0;
};

/// Cuts a template into tokens, as Jinja does with trim_blocks and
/// lstrip_blocks: a newline right after a block or a comment is dropped, so is
/// white space between a line's start and one; "-" at a tag strips all white
/// space on that side, "+" keeps what would be stripped; the template's last
/// newline is dropped; comments vanish; raw blocks become data. Line ends are
/// normalised to "\n". Throws syntax_error.
std::vector<token> tokenize(std::string_view source);

}  // namespace vouch::engine::jinja
