#include "engine/chat_template/text.hpp"

#include <algorithm>

namespace vouch::engine::jinja {

bool text::trusted() const {
  return std::all_of(runs_.begin(), runs_.end(),
                     [](const run& r) { return r.trusted; });
}

bool text::trusted_at(std::size_t offset) const {
  for (const run& r : runs_) {
    if (offset < r.length) return r.trusted;
    offset -= r.length;
  }
  return true;
}

void text::append(std::string_view bytes, bool is_trusted) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (!runs_.empty() && runs_.back().trusted == is_trusted) {
    runs_.back().length += bytes.size();
  } else {
    runs_.push_back({bytes.size(), is_trusted});
  }
}

void text::append(const text& other) {
  std::size_t offset = 0;
  const std::string_view bytes = other.bytes_;
  for (const run& r : other.runs_) {
    append(bytes.substr(offset, r.length), r.trusted);
    offset += r.length;
  }
}

text text::slice(std::size_t begin, std::size_t end) const {
  text result;
  result.markup = markup;
  end = std::min(end, bytes_.size());
  std::size_t offset = 0;
  const std::string_view bytes = bytes_;
  for (const run& r : runs_) {
    const std::size_t from = std::max(begin, offset);
    const std::size_t to = std::min(end, offset + r.length);
    if (from < to) result.append(bytes.substr(from, to - from), r.trusted);
    offset += r.length;
    if (offset >= end) break;
  }
  return result;
}

}  // namespace vouch::engine::jinja
