#include <algorithm>
#include <utility>
#include <vector>

#include "engine/text/utf8.hpp"
#include "engine/tokenizer/normalizer.hpp"
#include "engine/tokenizer/unicode.hpp"

namespace vouch::engine {

namespace {

struct traced_char {
  char32_t code = 0;
  std::uint8_t combining = 0;
  /// Byte of the source it came from.
  std::size_t at = 0;
};

// Hangul syllables are composed by arithmetic (Unicode 14, section 3.12).
constexpr char32_t s_base = 0xAC00;
constexpr char32_t l_base = 0x1100;
constexpr char32_t v_base = 0x1161;
constexpr char32_t t_base = 0x11A7;
constexpr char32_t l_count = 19;
constexpr char32_t v_count = 21;
constexpr char32_t t_count = 28;
constexpr char32_t s_count = l_count * v_count * t_count;

void push_decomposed(char32_t code, std::size_t at,
                     std::vector<traced_char>& out) {
  if (code >= s_base && code < s_base + s_count) {
    const char32_t index = code - s_base;
    out.push_back({l_base + index / (v_count * t_count), 0, at});
    out.push_back({v_base + index % (v_count * t_count) / t_count, 0, at});
    if (index % t_count) out.push_back({t_base + index % t_count, 0, at});
    return;
  }
  char32_t first = 0;
  char32_t second = 0;
  if (!unicode::decompose(code, first, second)) {
    out.push_back({code, unicode::combining_class(code), at});
    return;
  }
  push_decomposed(first, at, out);
  if (second) push_decomposed(second, at, out);
}

/// Sorts each run of combining marks by class, stably.
void order_marks(std::vector<traced_char>& chars) {
  for (auto at = chars.begin(); at != chars.end();) {
    if (at->combining == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(
        at, chars.end(), [](const traced_char& c) { return c.combining == 0; });
    std::stable_sort(at, end, [](const traced_char& a, const traced_char& b) {
      return a.combining < b.combining;
    });
    at = end;
  }
}

char32_t joined(char32_t first, char32_t second) {
  if (first >= l_base && first < l_base + l_count && second >= v_base &&
      second < v_base + v_count) {
    return s_base + ((first - l_base) * v_count + second - v_base) * t_count;
  }
  if (first >= s_base && first < s_base + s_count &&
      (first - s_base) % t_count == 0 && second > t_base &&
      second < t_base + t_count) {
    return first + (second - t_base);
  }
  return unicode::compose(first, second);
}

/// The canonical composition algorithm (Unicode 14, section 3.11).
void compose_all(std::vector<traced_char>& chars) {
  std::size_t kept = 0;
  std::size_t starter = chars.size();
  for (const traced_char next : chars) {
    if (starter < kept) {
      const std::uint8_t last = chars[kept - 1].combining;
      const bool adjacent = kept - 1 == starter;
      const bool blocked = !adjacent && (last == 0 || last >= next.combining);
      if (!blocked) {
        if (const char32_t both = joined(chars[starter].code, next.code)) {
          chars[starter].code = both;
          continue;
        }
      }
    }
    if (next.combining == 0) starter = kept;
    chars[kept++] = next;
  }
  chars.resize(kept);
}

class unicode_form_step final : public normalizer_step {
 public:
  explicit unicode_form_step(bool composed) : composed_{composed} {}

  bool unicode_form() const override { return true; }

  void apply(traced_text& text) const override {
    if (unchanged(text.text)) return;
    std::vector<traced_char> chars;
    chars.reserve(text.text.size());
    for (std::size_t at = 0, length = 0; at < text.text.size(); at += length) {
      const char32_t code = valid_utf8_at(text.text.data() + at, length);
      push_decomposed(code, at, chars);
    }
    order_marks(chars);
    if (composed_) compose_all(chars);
    traced_text out;
    std::string bytes;
    for (const traced_char& c : chars) {
      bytes.clear();
      append_utf8(bytes, c.code);
      out.append(bytes, text, c.at);
    }
    text = std::move(out);
  }

 private:
  /// Certainly in this form already: most text, at the cost of a look.
  bool unchanged(std::string_view text) const {
    for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
      const auto lead = static_cast<unsigned char>(text[at]);
      if (lead < (composed_ ? 0xCC : 0x80)) {  // below U+0300
        length = lead < 0x80 ? 1 : 2;
        continue;
      }
      const char32_t code = valid_utf8_at(text.data() + at, length);
      if (!composed_ || unicode::nfc_may_change(code)) return false;
    }
    return true;
  }

  bool composed_;
};

}  // namespace

std::unique_ptr<normalizer_step> make_unicode_form(bool composed) {
  return std::make_unique<unicode_form_step>(composed);
}

}  // namespace vouch::engine
