#include "engine/tokenizer/pre_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/text/utf8.hpp"

namespace vouch::engine {

namespace {

/// A stretch of a piece, delimiter or not. They cover the piece in order.
struct part {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool delimiter = false;
};

/// Joins parts as the behaviour says. An empty part joins too: it is how an
/// expression that matches nothing splits between characters.
void join_parts(std::string_view piece, const std::vector<part>& parts,
                split_behavior behavior, piece_list& out) {
  const auto add = [&](const part& p) {
    out.add(piece.substr(p.begin, p.end - p.begin));
  };
  switch (behavior) {
    case split_behavior::removed:
      for (const part& p : parts) {
        if (!p.delimiter) add(p);
      }
      return;
    case split_behavior::isolated:
      for (const part& p : parts) add(p);
      return;
    case split_behavior::contiguous:
      for (std::size_t i = 0; i < parts.size();) {
        part whole = parts[i];
        for (++i; i < parts.size(); ++i) {
          if (parts[i].delimiter != whole.delimiter) break;
          whole.end = parts[i].end;
        }
        add(whole);
      }
      return;
    case split_behavior::merged_with_previous:
      for (std::size_t i = 0; i < parts.size();) {
        part whole = parts[i];
        const bool joins =
            !whole.delimiter && i + 1 < parts.size() && parts[i + 1].delimiter;
        if (joins) whole.end = parts[++i].end;
        add(whole);
        ++i;
      }
      return;
    case split_behavior::merged_with_next:
      for (std::size_t i = 0; i < parts.size();) {
        part whole = parts[i];
        const bool joins =
            whole.delimiter && i + 1 < parts.size() && !parts[i + 1].delimiter;
        if (joins) whole.end = parts[++i].end;
        add(whole);
        ++i;
      }
      return;
  }
}

class pattern_split final : public split_step {
 public:
  explicit pattern_split(pattern_kind kind) : kind_{kind} {}
  void split(std::string_view piece, bool, piece_list& out) const override {
    split_by_pattern(kind_, piece, out.pieces);
  }

 private:
  pattern_kind kind_;
};

class regex_split final : public split_step {
 public:
  regex_split(regex expression, split_behavior behavior, bool invert)
      : expression_{std::move(expression)},
        behavior_{behavior},
        invert_{invert} {}

  void split(std::string_view piece, bool, piece_list& out) const override {
    std::vector<part> parts;
    std::size_t at = 0;
    for (const regex::range& hit : expression_.find_all(piece)) {
      if (hit.begin > at) parts.push_back({at, hit.begin, invert_});
      parts.push_back({hit.begin, hit.end, !invert_});
      at = hit.end;
    }
    if (at < piece.size()) parts.push_back({at, piece.size(), invert_});
    join_parts(piece, parts, behavior_, out);
  }

 private:
  regex expression_;
  split_behavior behavior_;
  bool invert_;
};

class literal_split final : public split_step {
 public:
  literal_split(std::string delimiter, split_behavior behavior, bool invert)
      : delimiter_{std::move(delimiter)},
        behavior_{behavior},
        invert_{invert} {}

  void split(std::string_view piece, bool, piece_list& out) const override {
    std::vector<part> parts;
    std::size_t at = 0;
    for (;;) {
      const std::size_t hit = piece.find(delimiter_, at);
      const std::size_t end = std::min(hit, piece.size());
      if (end > at) parts.push_back({at, end, invert_});
      if (hit == std::string_view::npos) break;
      at = hit + delimiter_.size();
      parts.push_back({hit, at, !invert_});
    }
    join_parts(piece, parts, behavior_, out);
  }

 private:
  std::string delimiter_;
  split_behavior behavior_;
  bool invert_;
};

class class_split final : public split_step {
 public:
  class_split(const std::vector<char_class>& classes, split_behavior behavior)
      : behavior_{behavior} {
    for (const char_class c : classes) {
      delimiter_[static_cast<std::size_t>(c)] = true;
    }
  }

  void split(std::string_view piece, bool, piece_list& out) const override {
    const std::uint8_t* properties = unicode::properties();
    std::vector<part> parts;
    std::size_t from = 0;
    std::size_t length = 0;
    for (std::size_t at = 0; at < piece.size(); at += length) {
      const char32_t code = valid_utf8_at(piece.data() + at, length);
      if (!delimiter_[properties[code] & 7]) continue;
      if (at > from) parts.push_back({from, at, false});
      parts.push_back({at, at + length, true});
      from = at + length;
    }
    if (from < piece.size()) parts.push_back({from, piece.size(), false});
    join_parts(piece, parts, behavior_, out);
  }

 private:
  std::array<bool, 8> delimiter_{};
  split_behavior behavior_;
};

class prefix_space final : public split_step {
 public:
  void split(std::string_view piece, bool, piece_list& out) const override {
    if (piece.substr(0, 1) == " ") return out.add(piece);
    out.add(out.owned.emplace_back(" ").append(piece));
  }
};

class metaspace final : public split_step {
 public:
  metaspace(std::string mark, prepend_scheme scheme, bool split)
      : scheme_{scheme},
        split_{split ? make_literal_split(
                           mark, split_behavior::merged_with_next, false)
                     : nullptr},
        mark_{std::move(mark)} {}

  void split(std::string_view piece, bool at_start,
             piece_list& out) const override {
    std::string text;
    for (const char c : piece) {
      if (c == ' ') {
        text += mark_;
      } else {
        text += c;
      }
    }
    const bool wanted = scheme_ == prepend_scheme::always ||
                        (scheme_ == prepend_scheme::first && at_start);
    if (wanted && text.compare(0, mark_.size(), mark_) != 0) {
      text.insert(0, mark_);
    }
    const std::string& kept = out.owned.emplace_back(std::move(text));
    if (split_) return split_->split(kept, at_start, out);
    out.add(kept);
  }

 private:
  prepend_scheme scheme_;
  std::unique_ptr<split_step> split_;
  std::string mark_;
};

}  // namespace

std::unique_ptr<split_step> make_pattern_split(pattern_kind kind) {
  return std::make_unique<pattern_split>(kind);
}

std::unique_ptr<split_step> make_regex_split(regex expression,
                                             split_behavior behavior,
                                             bool invert) {
  return std::make_unique<regex_split>(std::move(expression), behavior, invert);
}

std::unique_ptr<split_step> make_literal_split(std::string delimiter,
                                               split_behavior behavior,
                                               bool invert) {
  return std::make_unique<literal_split>(std::move(delimiter), behavior,
                                         invert);
}

std::unique_ptr<split_step> make_class_split(
    const std::vector<char_class>& classes, split_behavior behavior) {
  return std::make_unique<class_split>(classes, behavior);
}

std::unique_ptr<split_step> make_prefix_space() {
  return std::make_unique<prefix_space>();
}

std::unique_ptr<split_step> make_metaspace(std::string mark,
                                           prepend_scheme scheme, bool split) {
  return std::make_unique<metaspace>(std::move(mark), scheme, split);
}

void pre_tokenize(const split_steps& steps, std::string_view text,
                  bool at_start, piece_list& out) {
  out.pieces.clear();
  out.add(text);
  std::vector<std::string_view> before;
  for (const auto& step : steps) {
    before.swap(out.pieces);
    out.pieces.clear();
    for (std::size_t i = 0; i < before.size(); ++i) {
      step->split(before[i], at_start && i == 0, out);
    }
  }
}

}  // namespace vouch::engine
