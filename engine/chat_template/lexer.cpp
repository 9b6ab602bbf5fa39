#include "engine/chat_template/lexer.hpp"

#include <algorithm>
#include <array>

#include "engine/chat_template/unicode.hpp"

namespace vouch::engine::jinja {
namespace {

std::string normalized(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

class lexer {
 public:
  explicit lexer(std::string_view source) : source_(normalized(source)) {
    const std::string_view all = source_;
    s_ = all;
  }

  std::vector<token> run() && {
    while (at_ < s_.size()) data();
    push(token_type::end, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw syntax_error(line_, message);
  }

  void push(token_type type, std::string_view text) {
    tokens_.push_back({type, std::string{text}, line_});
  }

  bool starts(std::string_view prefix, std::size_t at) const {
    return s_.substr(at, prefix.size()) == prefix;
  }

  std::size_t skip_space(std::size_t at) const {
    return at + strip(s_.substr(at), true, false).begin;
  }

  /// Moves to `to`, counting lines.
  void advance(std::size_t to) {
    line_ += static_cast<int>(
        std::count(s_.begin() + static_cast<std::ptrdiff_t>(at_),
                   s_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    line_starting_ = to > 0 && s_[to - 1] == '\n';
    at_ = to;
  }

  /// The end of a raw tag that starts at `at`, and where its name must be;
  /// npos when it is another tag. `mark` gets its sign.
  std::size_t raw_tag_end(std::size_t at, std::string_view name, char& mark,
                          bool trim_newline) const {
    std::size_t i = at + 2;
    mark = 0;
    if (i < s_.size() && (s_[i] == '-' || s_[i] == '+')) mark = s_[i++];
    i = skip_space(i);
    if (!starts(name, i)) return npos;
    i = skip_space(i + name.size());
    if (starts("-%}", i)) return skip_space(i + 3);
    if (trim_newline && starts("+%}", i)) return i + 3;
    if (!starts("%}", i)) return npos;
    i += 2;
    return trim_newline && starts("\n", i) ? i + 1 : i;
  }

  /// Emits data up to a tag, stripped as the tag's mark and lstrip_blocks ask.
  void push_data(std::string_view text, char mark, bool strips_line) {
    if (mark == '-') {
      text = text.substr(0, strip(text, false, true).end);
    } else if (mark != '+' && strips_line) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t from = newline == npos ? 0 : newline + 1;
      if ((from > 0 || line_starting_) &&
          strip(text.substr(from), true, false).begin == text.size() - from) {
        text = text.substr(0, from);
      }
    }
    if (!text.empty()) push(token_type::data, text);
  }

  void data() {
    std::size_t tag = at_;
    while (true) {
      tag = s_.find('{', tag);
      if (tag == npos || tag + 1 >= s_.size()) {
        push_data(s_.substr(at_), '+', false);
        advance(s_.size());
        return;
      }
      const char c = s_[tag + 1];
      if (c == '{' || c == '%' || c == '#') break;
      ++tag;
    }
    const std::string_view text = s_.substr(at_, tag - at_);
    char mark = 0;
    if (s_[tag + 1] == '%') {
      const std::size_t body = raw_tag_end(tag, "raw", mark, false);
      if (body != npos) return raw(text, mark, body);
    }
    const char kind = s_[tag + 1];
    std::size_t body = tag + 2;
    mark = 0;
    if (body < s_.size() && (s_[body] == '-' || s_[body] == '+')) {
      mark = s_[body++];
    }
    push_data(text, mark, kind != '{');
    advance(tag);
    if (kind == '#') return comment(body);
    push(kind == '{' ? token_type::print_begin : token_type::block_begin, "");
    advance(body);
    kind == '{' ? code("}}", token_type::print_end)
                : code("%}", token_type::block_end);
  }

  void comment(std::size_t body) {
    const std::size_t close = s_.find("#}", body);
    if (close == npos) fail("Missing end of comment tag");
    std::size_t next = close + 2;
    const char sign = close > body ? s_[close - 1] : '\0';
    if (sign == '-') {
      next = skip_space(next);
    } else if (sign != '+' && starts("\n", next)) {
      ++next;
    }
    advance(next);
  }

  void raw(std::string_view before, char mark, std::size_t body) {
    push_data(before, mark, true);
    advance(body);
    for (std::size_t i = s_.find("{%", body); i != npos;
         i = s_.find("{%", i + 2)) {
      char end_mark = 0;
      const std::size_t end = raw_tag_end(i, "endraw", end_mark, true);
      if (end == npos) continue;
      push_data(s_.substr(body, i - body), end_mark, true);
      advance(end);
      return;
    }
    fail("Missing end of raw directive");
  }

  /// The tokens of one tag, up to and including its end.
  void code(std::string_view close, token_type end_type) {
    std::vector<char> brackets;
    while (true) {
      if (at_ >= s_.size()) fail("unexpected end of template");
      if (brackets.empty() && end_of_tag(close, end_type)) return;
      const std::size_t word = skip_space(at_);
      if (word != at_) {
        advance(word);
        continue;
      }
      const char c = s_[at_];
      if (is_digit(c)) {
        number();
      } else if (is_word(c)) {
        std::size_t end = at_;
        while (end < s_.size() && is_word(s_[end])) ++end;
        push(token_type::name, s_.substr(at_, end - at_));
        advance(end);
      } else if (c == '\'' || c == '"') {
        string(c);
      } else {
        op(brackets);
      }
    }
  }

  bool end_of_tag(std::string_view close, token_type end_type) {
    std::size_t next = npos;
    const bool block = end_type == token_type::block_end;
    if (s_[at_] == '-' && starts(close, at_ + 1)) {
      next = skip_space(at_ + 3);
    } else if (block && s_[at_] == '+' && starts(close, at_ + 1)) {
      next = at_ + 3;
    } else if (starts(close, at_)) {
      next = at_ + 2;
      if (block && starts("\n", next)) ++next;
    }
    if (next == npos) return false;
    push(end_type, "");
    advance(next);
    return true;
  }

  void op(std::vector<char>& brackets) {
    constexpr std::array<std::string_view, 6> pairs{
        "**", "//", "==", "!=", "<=", ">="};
    for (const std::string_view pair : pairs) {
      if (!starts(pair, at_)) continue;
      push(token_type::op, pair);
      return advance(at_ + 2);
    }
    const char c = s_[at_];
    if (std::string_view{"+-/*%~[](){}<>=.:|,;"}.find(c) == npos) {
      fail("unexpected char '" + std::string{c} + "'");
    }
    if (c == '(' || c == '[' || c == '{') {
      brackets.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty()) fail("unexpected '" + std::string{c} + "'");
      if (brackets.back() != c) {
        fail("unexpected '" + std::string{c} + "', expected '" +
             std::string{brackets.back()} + "'");
      }
      brackets.pop_back();
    }
    push(token_type::op, s_.substr(at_, 1));
    advance(at_ + 1);
  }

  /// Digits with single underscores between them; returns where they end.
  std::size_t digits(std::size_t at) const {
    while (at < s_.size() &&
           (is_digit(s_[at]) ||
            (s_[at] == '_' && at + 1 < s_.size() && is_digit(s_[at + 1])))) {
      ++at;
    }
    return at;
  }

  void number() {
    std::size_t end = digits(at_);
    bool floating = false;
    const bool after_dot = !tokens_.empty() && at_ > 0 && s_[at_ - 1] == '.';
    const auto digit_at = [&](std::size_t i) {
      return i < s_.size() && is_digit(s_[i]);
    };
    if (!after_dot && end < s_.size() && s_[end] == '.' && digit_at(end + 1)) {
      end = digits(end + 1);
      floating = true;
    }
    if (!after_dot && end < s_.size() && (s_[end] == 'e' || s_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < s_.size() &&
          (s_[exponent] == '+' || s_[exponent] == '-')) {
        ++exponent;
      }
      if (digit_at(exponent)) {
        end = digits(exponent);
        floating = true;
      }
    }
    if (!floating && s_[at_] == '0' && end == at_ + 1 && end < s_.size() &&
        std::string_view{"xXoObB"}.find(s_[end]) != npos) {
      ++end;
      while (end < s_.size() &&
             (std::isxdigit(static_cast<unsigned char>(s_[end])) != 0 ||
              s_[end] == '_')) {
        ++end;
      }
    }
    if (!floating && s_[at_] == '0' && end > at_ + 1 && is_digit(s_[at_ + 1])) {
      // Jinja reads "007" as the integers 00 and 7.
      end = std::min(end, s_.find_first_not_of("0_", at_));
    }
    std::string literal;
    for (const char c : s_.substr(at_, end - at_)) {
      if (c != '_') literal += c;
    }
    push(floating ? token_type::floating : token_type::integer, literal);
    advance(end);
  }

  void string(char quote) {
    std::size_t i = at_ + 1;
    while (i < s_.size() && s_[i] != quote) i += s_[i] == '\\' ? 2 : 1;
    if (i >= s_.size()) fail("unterminated string literal");
    push(token_type::string, unescape(s_.substr(at_ + 1, i - at_ - 1)));
    advance(i + 1);
  }

  char32_t hexadecimal(std::string_view s, std::size_t& i,
                       std::size_t length) const {
    char32_t c = 0;
    for (std::size_t n = 0; n < length; ++n, ++i) {
      if (i >= s.size() ||
          std::isxdigit(static_cast<unsigned char>(s[i])) == 0) {
        fail("truncated \\x or \\u escape in a string");
      }
      const char d = s[i];
      c = c * 16 + static_cast<char32_t>(d <= '9'   ? d - '0'
                                         : d <= 'F' ? d - 'A' + 10
                                                    : d - 'a' + 10);
    }
    return c;
  }

  char32_t unicode_escape(std::string_view s, std::size_t& i,
                          std::size_t length) const {
    const auto surrogate = [](char32_t c, char32_t base) {
      return c >= base && c < base + 0x400;
    };
    char32_t c = hexadecimal(s, i, length);
    if (surrogate(c, 0xD800) && s.substr(i, 2) == "\\u") {
      std::size_t next = i + 2;
      const char32_t low = hexadecimal(s, next, 4);
      if (surrogate(low, 0xDC00)) {
        i = next;
        return 0x10000 + ((c - 0xD800) << 10U) + (low - 0xDC00);
      }
    }
    if (c > 0x10FFFF || surrogate(c, 0xD800) || surrogate(c, 0xDC00)) {
      fail("a string escape is not a Unicode character");
    }
    return c;
  }

  std::string unescape(std::string_view s) const {
    std::string out;
    for (std::size_t i = 0; i < s.size();) {
      if (s[i] != '\\' || i + 1 >= s.size()) {
        out += s[i++];
        continue;
      }
      const char c = s[i + 1];
      i += 2;
      constexpr std::string_view letters = "nrtabfv\\'\"";
      constexpr std::string_view meanings = "\n\r\t\a\b\f\v\\'\"";
      const std::size_t simple = letters.find(c);
      if (simple != npos) {
        out += meanings[simple];
      } else if (c == '\n') {
        continue;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        append_code_point(out, unicode_escape(s, i,
                                              c == 'x'   ? 2
                                              : c == 'u' ? 4
                                                         : 8));
      } else if (c >= '0' && c <= '7') {
        char32_t code = static_cast<char32_t>(c - '0');
        for (int n = 0; n < 2 && i < s.size() && s[i] >= '0' && s[i] <= '7';
             ++n) {
          code = code * 8 + static_cast<char32_t>(s[i++] - '0');
        }
        append_code_point(out, code);
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  static constexpr std::size_t npos = std::string_view::npos;
  const std::string source_;
  std::string_view s_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> tokenize(std::string_view source) {
  return lexer{source}.run();
}

}  // namespace vouch::engine::jinja
