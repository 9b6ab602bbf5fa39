#include "engine/tokenizer/unicode.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/tokenizer/unicode_tables.hpp"

namespace vouch::engine::unicode {

namespace {

constexpr std::size_t code_points = 0x110000;

/// The value of the run that holds `code`.
std::uint8_t run_value(const std::uint32_t* runs, std::size_t size,
                       char32_t code) {
  const std::uint32_t* next =
      std::upper_bound(runs, runs + size, code << 8 | 0xFFu);
  return static_cast<std::uint8_t>(next[-1] & 0xFF);
}

std::vector<std::uint8_t> expand_properties() {
  std::vector<std::uint8_t> table(code_points);
  const std::uint32_t* runs = unicode_tables::property_runs;
  const std::size_t size = unicode_tables::property_runs_size;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t end = i + 1 < size ? runs[i + 1] >> 8 : code_points;
    std::fill(table.begin() + (runs[i] >> 8),
              table.begin() + static_cast<std::ptrdiff_t>(end),
              static_cast<std::uint8_t>(runs[i] & 0xFF));
  }
  return table;
}

struct pair_tables {
  std::unordered_map<char32_t, std::pair<char32_t, char32_t>> split;
  std::unordered_map<std::uint64_t, char32_t> joined;
};

const pair_tables& pairs() {
  static const pair_tables tables = [] {
    pair_tables out;
    const std::uint32_t* at = unicode_tables::decompositions;
    const std::uint32_t* end = at + unicode_tables::decompositions_size;
    for (; at != end; at += 3) {
      const char32_t code = at[0] & 0x1FFFFF;
      out.split[code] = {at[1], at[2]};
      if (at[0] >> 31) {
        out.joined[static_cast<std::uint64_t>(at[1]) << 32 | at[2]] = code;
      }
    }
    return out;
  }();
  return tables;
}

}  // namespace

const std::uint8_t* properties() {
  static const std::vector<std::uint8_t> table = expand_properties();
  return table.data();
}

bool is_word(char32_t code) {
  switch (class_of(code)) {
    case char_class::letter:
    case char_class::number:
    case char_class::mark:
    case char_class::connector:
      return true;
    default:
      return false;
  }
}

char32_t to_lower(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  std::size_t low = 0;
  std::size_t high = unicode_tables::lowercase_size / 2;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (unicode_tables::lowercase[2 * middle] < code) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (2 * low < unicode_tables::lowercase_size &&
      unicode_tables::lowercase[2 * low] == code) {
    return unicode_tables::lowercase[2 * low + 1];
  }
  return code;
}

std::uint8_t combining_class(char32_t code) {
  return run_value(unicode_tables::combining_runs,
                   unicode_tables::combining_runs_size, code);
}

bool decompose(char32_t code, char32_t& first, char32_t& second) {
  const auto found = pairs().split.find(code);
  if (found == pairs().split.end()) return false;
  first = found->second.first;
  second = found->second.second;
  return true;
}

char32_t compose(char32_t first, char32_t second) {
  const auto found =
      pairs().joined.find(static_cast<std::uint64_t>(first) << 32 | second);
  return found == pairs().joined.end() ? 0 : found->second;
}

}  // namespace vouch::engine::unicode
