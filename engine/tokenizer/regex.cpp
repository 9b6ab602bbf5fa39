#include "engine/tokenizer/regex.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace vouch::engine {

namespace {

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// Oniguruma's \w, \s and their complements where PCRE2 has smaller or larger
/// sets: its \w leaves marks and letter-like symbols out and takes all
/// numbers in, its \s takes U+180E in.
std::string class_of_escape(const std::string& pattern, std::size_t at,
                            bool in_class) {
  // The last six are the numbers of Latin-1.
  constexpr std::string_view word =
      R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
  switch (at < pattern.size() ? pattern[at] : '\0') {
    case 'w':
      return in_class ? std::string{word} : "[" + std::string{word} + "]";
    case 'W':
      if (!in_class) return "[^" + std::string{word} + "]";
      throw std::invalid_argument(
          "regular expression: \\W inside a class at "
          "byte " +
          std::to_string(at - 1) + " is not supported");
    case 's':
      return R"(\p{White_Space})";
    case 'S':
      return R"(\P{White_Space})";
    default:
      return pattern.substr(at - 1, 2);
  }
}

/// The expression as PCRE2 writes it. Refuses what the two read differently:
/// Oniguruma takes "&&" and "[" inside a class as set operations.
std::string translate(const std::string& pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::size_t begin = i;
    const char c = pattern[i];
    if (c == '\\') {
      out += class_of_escape(pattern, ++i, in_class);
      continue;
    }
    if (!in_class) {
      in_class = c == '[';
      // A "]" that comes first is a character.
      if (in_class && pattern.compare(i + 1, 2, "^]") == 0) {
        i += 2;
      } else if (in_class && pattern.compare(i + 1, 1, "]") == 0) {
        i += 1;
      }
    } else if (c == ']') {
      in_class = false;
    } else if (pattern.compare(i, 2, "[:") == 0) {
      const std::size_t end = pattern.find(":]", i);
      if (end != std::string::npos) i = end + 1;
    } else if (c == '[' || pattern.compare(i, 2, "&&") == 0) {
      throw std::invalid_argument(
          "regular expression: set operation inside a class at byte " +
          std::to_string(i) + " is not supported");
    }
    out += pattern.substr(begin, i - begin + 1);
  }
  return out;
}

struct free_match_data {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

regex::regex(const std::string& pattern) {
  const std::string translated = translate(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
      nullptr);
  if (!code) {
    throw std::invalid_argument("regular expression: " + message_of(error) +
                                " at byte " + std::to_string(offset) + " of " +
                                translated);
  }
  code_ = std::shared_ptr<const void>(
      code, [code](const void*) { pcre2_code_free(code); });
  // Without JIT (a hardened kernel, an odd architecture) it is only slower.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

std::vector<regex::range> regex::find_all(std::string_view text) const {
  const auto* code = static_cast<const pcre2_code*>(code_.get());
  const std::unique_ptr<pcre2_match_data, free_match_data> data{
      pcre2_match_data_create_from_pattern(code, nullptr)};
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  std::vector<range> out;
  std::size_t at = 0;
  bool after_empty = false;
  while (at <= text.size()) {
    const std::uint32_t options =
        PCRE2_NO_UTF_CHECK | (after_empty ? PCRE2_NOTEMPTY_ATSTART : 0u);
    int rc = pcre2_match(code, subject, text.size(), at, options, data.get(),
                         nullptr);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter uses the heap
      rc = pcre2_match(code, subject, text.size(), at, options | PCRE2_NO_JIT,
                       data.get(), nullptr);
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) {
      throw std::runtime_error("regular expression: " + message_of(rc));
    }
    const PCRE2_SIZE* found = pcre2_get_ovector_pointer(data.get());
    out.push_back({found[0], found[1]});
    at = found[1];
    after_empty = found[0] == found[1];
  }
  return out;
}

}  // namespace vouch::engine
