#include "engine/tokenizer/pattern.hpp"

#include <algorithm>
#include <array>

#include "engine/text/utf8.hpp"
#include "engine/tokenizer/unicode.hpp"

namespace vouch::engine {

namespace {

// In the order of pattern_kind.
constexpr std::array<std::string_view, 4> expressions = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)"
    R"(|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

/// Tries the alternatives in the expression's order at one position.
template <pattern_kind Kind>
class matcher {
 public:
  explicit matcher(std::string_view text)
      : end_{text.data() + text.size()}, properties_{unicode::properties()} {}

  /// The end of the piece that starts at `at`.
  const char* match(const char* at) const {
    if (*at == '\'') {
      if (const char* end = contraction(at)) return end;
    }
    std::size_t length = 0;
    const char_class first = class_at(at, length);
    // Letters, after at most one other character.
    const bool may_lead = gpt2 ? *at == ' '
                               : *at != '\r' && *at != '\n' &&
                                     first != char_class::letter &&
                                     first != char_class::number;
    if (may_lead) {
      const char* end = run<is_letter>(at + length);
      if (end != at + length) return end;
    }
    if (is_letter(first)) return run<is_letter>(at);

    const char* after_space = *at == ' ' ? at + 1 : at;
    if (const char* end = numbers(gpt2 ? after_space : at); end) return end;
    if (const char* end = run<is_other>(after_space); end != after_space) {
      while (!gpt2 && end != end_ && (*end == '\r' || *end == '\n')) ++end;
      return end;
    }
    return white_space(at);
  }

 private:
  static constexpr bool gpt2 = Kind == pattern_kind::gpt2;
  static constexpr bool marks = Kind == pattern_kind::qwen35;

  static bool is_letter(char_class c) {
    return c == char_class::letter || (marks && c == char_class::mark);
  }
  static bool is_number(char_class c) { return c == char_class::number; }
  static bool is_space(char_class c) { return c == char_class::space; }
  static bool is_other(char_class c) {
    return !is_space(c) && !is_letter(c) && !is_number(c);
  }

  char_class class_at(const char* at, std::size_t& length) const {
    return static_cast<char_class>(properties_[valid_utf8_at(at, length)] & 7);
  }

  template <bool (*Accept)(char_class)>
  const char* run(const char* at) const {
    std::size_t length = 0;
    while (at != end_ && Accept(class_at(at, length))) at += length;
    return at;
  }

  /// 's 't 're 've 'm 'll 'd; nullptr where none stands.
  const char* contraction(const char* at) const {
    const auto letter = [&](std::ptrdiff_t i) {
      if (end_ - at <= i) return '\0';
      const char c = at[i];
      return !gpt2 && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    switch (letter(1)) {
      case 's':
      case 't':
      case 'm':
      case 'd':
        return at + 2;
      case 'r':
      case 'v':
        return letter(2) == 'e' ? at + 3 : nullptr;
      case 'l':
        return letter(2) == 'l' ? at + 3 : nullptr;
      default:
        return nullptr;
    }
  }

  const char* numbers(const char* at) const {
    if constexpr (gpt2) {
      const char* end = run<is_number>(at);
      return end == at ? nullptr : end;
    }
    const char* end = at;
    std::size_t length = 0;
    const int most = Kind == pattern_kind::llama3 ? 3 : 1;
    for (int i = 0; i < most && end != end_; ++i, end += length) {
      if (!is_number(class_at(end, length))) break;
    }
    return end == at ? nullptr : end;
  }

  /// Up to and with the run's last line break; else all of it but the last
  /// character, which goes with what follows.
  const char* white_space(const char* at) const {
    const char* last = at;
    const char* after_break = nullptr;
    const char* end = at;
    std::size_t length = 0;
    while (end != end_ && is_space(class_at(end, length))) {
      last = end;
      end += length;
      if (*last == '\r' || *last == '\n') after_break = end;
    }
    if (!gpt2 && after_break) return after_break;
    return end == end_ || last == at ? end : last;
  }

  const char* end_;
  const std::uint8_t* properties_;
};

template <pattern_kind Kind>
void split(std::string_view text, std::vector<std::string_view>& pieces) {
  const matcher<Kind> match{text};
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const char* next = match.match(at);
    pieces.emplace_back(at, static_cast<std::size_t>(next - at));
    at = next;
  }
}

}  // namespace

std::string_view pattern_text(pattern_kind kind) {
  return expressions[static_cast<std::size_t>(kind)];
}

std::optional<pattern_kind> find_pattern(std::string_view expression) {
  const auto found =
      std::find(expressions.begin(), expressions.end(), expression);
  if (found == expressions.end()) return std::nullopt;
  return static_cast<pattern_kind>(found - expressions.begin());
}

void split_by_pattern(pattern_kind kind, std::string_view text,
                      std::vector<std::string_view>& pieces) {
  switch (kind) {
    case pattern_kind::gpt2:
      return split<pattern_kind::gpt2>(text, pieces);
    case pattern_kind::llama3:
      return split<pattern_kind::llama3>(text, pieces);
    case pattern_kind::qwen2:
      return split<pattern_kind::qwen2>(text, pieces);
    case pattern_kind::qwen35:
      return split<pattern_kind::qwen35>(text, pieces);
  }
}

}  // namespace vouch::engine
