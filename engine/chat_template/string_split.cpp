#include <algorithm>
#include <array>

#include "engine/chat_template/context.hpp"
#include "engine/chat_template/methods.hpp"
#include "engine/chat_template/unicode.hpp"

// The methods of Python's str that take a string apart.
namespace vouch::engine::jinja {
namespace {

/// Pieces as byte ranges, by white space or by a separator.
std::vector<byte_range> split_spaces(std::string_view s, std::int64_t limit) {
  std::vector<byte_range> pieces;
  std::size_t i = 0;
  while (true) {
    i += strip(s.substr(i), true, false).begin;
    if (i >= s.size()) return pieces;
    if (limit >= 0 && static_cast<std::int64_t>(pieces.size()) >= limit) {
      pieces.push_back({i, s.size()});
      return pieces;
    }
    const std::size_t start = i;
    std::size_t end = i;
    while (i < s.size() && !is_space(next_code_point(s, i))) end = i;
    pieces.push_back({start, end});
    i = end;
  }
}

std::vector<byte_range> right_split(std::string_view s, std::string_view by,
                                    std::int64_t limit) {
  std::vector<byte_range> pieces;
  std::size_t end = s.size();
  while (limit < 0 || static_cast<std::int64_t>(pieces.size()) < limit) {
    if (end < by.size()) break;
    const std::size_t at = s.substr(0, end).rfind(by);
    if (at == std::string_view::npos) break;
    pieces.push_back({at + by.size(), end});
    end = at;
  }
  pieces.push_back({0, end});
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<byte_range> right_split_spaces(std::string_view s,
                                           std::int64_t limit) {
  std::vector<byte_range> pieces;
  std::size_t end = s.size();
  while (true) {
    end = strip(s.substr(0, end), false, true).end;
    if (end == 0) break;
    if (limit >= 0 && static_cast<std::int64_t>(pieces.size()) >= limit) {
      pieces.push_back({0, end});
      break;
    }
    std::size_t start = end;
    while (start > 0) {
      std::size_t before = start - 1;
      while (before > 0 &&
             (static_cast<unsigned char>(s[before]) & 0xC0U) == 0x80U) {
        --before;
      }
      std::size_t next = before;
      if (is_space(next_code_point(s, next))) break;
      start = before;
    }
    pieces.push_back({start, end});
    end = start;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

template <bool Right>
value split(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("split", args, {"sep", "maxsplit"});
  const text& s = self.as_text();
  const std::int64_t limit = bound[1] ? to_integer(*bound[1], "maxsplit") : -1;
  ctx.charge_bytes(s.size());
  std::vector<byte_range> pieces;
  if (given(bound[0])) {
    const text& by = to_string_argument(*bound[0], "separator");
    if (by.empty()) throw render_error("empty separator");
    pieces = Right ? right_split(s.bytes(), by.bytes(), limit)
                   : split_at(s.bytes(), by.bytes(), limit);
  } else {
    pieces = Right ? right_split_spaces(s.bytes(), limit)
                   : split_spaces(s.bytes(), limit);
  }
  std::vector<value> items;
  for (const byte_range& p : pieces) {
    ctx.charge(1 + s.runs().size() / 8);
    items.emplace_back(s.slice(p.begin, p.end));
  }
  return make_list(std::move(items));
}

value splitlines(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("splitlines", args, {"keepends"});
  std::vector<value> items;
  const bool keep = bound[0] && bound[0]->truthy();
  for (text& t : split_lines(ctx, self.as_text(), keep)) {
    items.emplace_back(std::move(t));
  }
  return make_list(std::move(items));
}

template <bool Right>
value partition(context& ctx, const value& self, const arguments& args) {
  const bound_arguments bound = bind("partition", args, {"sep"}, 1);
  const std::string& by = to_string_argument(*bound[0], "separator").bytes();
  if (by.empty()) throw render_error("empty separator");
  const text& s = self.as_text();
  ctx.charge_bytes(s.size());
  const std::size_t at =
      Right ? s.bytes().rfind(by) : find_bytes(s.bytes(), by, 0);
  if (at == std::string::npos) {
    const value none{text{}};
    return Right ? make_tuple({none, none, self})
                 : make_tuple({self, none, none});
  }
  return make_tuple({value{s.slice(0, at)}, value{s.slice(at, at + by.size())},
                     value{s.slice(at + by.size(), s.size())}});
}

constexpr std::array splitting_methods{
    method{"split", split<false>},
    method{"rsplit", split<true>},
    method{"splitlines", splitlines},
    method{"partition", partition<false>},
    method{"rpartition", partition<true>},
};

}  // namespace

method_function find_splitting_method(std::string_view name) {
  for (const method& m : splitting_methods) {
    if (m.name == name) return m.function;
  }
  return nullptr;
}

std::vector<byte_range> split_at(std::string_view s, std::string_view by,
                                 std::int64_t limit) {
  std::vector<byte_range> pieces;
  std::size_t start = 0;
  while (limit < 0 || static_cast<std::int64_t>(pieces.size()) < limit) {
    const std::size_t at = find_bytes(s, by, start);
    if (at == std::string_view::npos) break;
    pieces.push_back({start, at});
    start = at + by.size();
  }
  pieces.push_back({start, s.size()});
  return pieces;
}

std::vector<text> split_lines(context& ctx, const text& s, bool keep_ends) {
  ctx.charge_bytes(s.size());
  std::vector<text> lines;
  std::size_t start = 0;
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t at = i;
    const char32_t c = next_code_point(s.bytes(), i);
    const bool breaks = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) ||
                        c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!breaks) continue;
    if (c == '\r' && i < s.size() && s.bytes()[i] == '\n') ++i;
    ctx.charge(1 + s.runs().size() / 8);
    lines.push_back(s.slice(start, keep_ends ? i : at));
    start = i;
  }
  if (start < s.size()) lines.push_back(s.slice(start, s.size()));
  return lines;
}

}  // namespace vouch::engine::jinja
