#include "engine/tokenizer/merge_model.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "engine/text/utf8.hpp"

namespace vouch::engine {

merge_table::merge_table(std::size_t merges) {
  int bits = 4;
  while ((std::size_t{1} << bits) < merges * 2) ++bits;
  entries_.resize(std::size_t{1} << bits);
  shift_ = 64 - bits;
}

std::size_t merge_table::slot(std::uint64_t key) const {
  std::size_t at = key * 0x9E3779B97F4A7C15u >> shift_;
  while (entries_[at].key != key && entries_[at].key != empty) {
    at = (at + 1) & (entries_.size() - 1);
  }
  return at;
}

void merge_table::insert(token_id left, token_id right,
                         merge_candidate result) {
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 |
                            static_cast<std::uint32_t>(right);
  entries_[slot(key)] = {key, result};
}

merge_candidate merge_table::find(token_id left, token_id right) const {
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 |
                            static_cast<std::uint32_t>(right);
  return entries_[slot(key)].result;
}

namespace {

/// -1 for bytes without a token.
using byte_ids = std::array<token_id, 256>;

template <class Spell>
byte_ids find_bytes(const vocabulary& words, const Spell& spell) {
  byte_ids ids;
  for (int b = 0; b < 256; ++b) {
    const auto found = words.find(spell(static_cast<unsigned char>(b)));
    ids[static_cast<std::size_t>(b)] = found.value_or(-1);
  }
  return ids;
}

std::string spell_fallback(unsigned char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

token_id id_of(const byte_ids& ids, char byte) {
  return ids[static_cast<unsigned char>(byte)];
}

class bpe final : public merge_model {
 public:
  bpe(const vocabulary& words, merge_table merges, const bpe_options& options)
      : words_{words}, merges_{std::move(merges)}, options_{options} {
    bytes_ = options.byte_level
                 ? find_bytes(words, [](auto b) { return char_of_byte(b); })
                 : find_bytes(words, spell_fallback);
  }

  void encode(std::string_view piece, scratch& memory,
              std::vector<token_id>& out) const override {
    if (options_.ignore_merges) {
      if (const auto whole = find_whole(piece)) return out.push_back(*whole);
    }
    memory.symbols.clear();
    if (options_.byte_level) {
      for (const char byte : piece) {
        push_symbol(id_of(bytes_, byte), memory.symbols);
      }
    } else {
      push_characters(piece, memory.symbols);
    }
    merge_all(
        memory.symbols,
        [this](const merge_symbol& left, const merge_symbol& right) {
          return merges_.find(left.id, right.id);
        },
        memory.pairs);
    for (const merge_symbol& s : memory.symbols) out.push_back(s.id);
  }

 private:
  /// A piece that is a token of the text; a special token is never one.
  std::optional<token_id> find_whole(std::string_view piece) const {
    std::optional<token_id> found;
    if (options_.byte_level) {
      std::string spelled;
      for (const char byte : piece) {
        spelled += char_of_byte(static_cast<unsigned char>(byte));
      }
      found = words_.find(spelled);
    } else {
      found = words_.find(piece);
    }
    if (found && (words_.flags(*found) & vocabulary::added)) return {};
    return found;
  }

  void push_symbol(token_id id, std::vector<merge_symbol>& symbols) const {
    if (id >= 0) {
      symbols.push_back({id, 0, 0});
    } else if (options_.unknown) {
      const bool fused = options_.fuse_unknown && !symbols.empty() &&
                         symbols.back().id == *options_.unknown;
      if (!fused) symbols.push_back({*options_.unknown, 0, 0});
    }
  }

  void push_characters(std::string_view piece,
                       std::vector<merge_symbol>& symbols) const {
    for (std::size_t at = 0, length = 0; at < piece.size(); at += length) {
      valid_utf8_at(piece.data() + at, length);
      const std::string_view character = piece.substr(at, length);
      const auto id = words_.find(character);
      if (id && !(words_.flags(*id) & vocabulary::outside)) {
        push_symbol(*id, symbols);
        continue;
      }
      const bool spelled =
          options_.byte_fallback &&
          std::all_of(character.begin(), character.end(),
                      [this](char b) { return id_of(bytes_, b) >= 0; });
      if (spelled) {
        for (const char b : character) push_symbol(id_of(bytes_, b), symbols);
      } else {
        push_symbol(-1, symbols);
      }
    }
  }

  const vocabulary& words_;
  merge_table merges_;
  bpe_options options_;
  byte_ids bytes_;
};

class spm final : public merge_model {
 public:
  spm(const vocabulary& words, const std::vector<double>& scores,
      std::optional<token_id> unknown)
      : words_{words},
        unknown_{unknown},
        bytes_{find_bytes(words, spell_fallback)} {
    // Equal scores get equal ranks: the leftmost pair wins among them.
    std::vector<double> order{scores};
    std::sort(order.begin(), order.end(), std::greater<>{});
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (const double score : scores) {
      const auto at =
          std::lower_bound(order.begin(), order.end(), score, std::greater<>{});
      ranks_.push_back(static_cast<std::uint32_t>(at - order.begin()));
    }
  }

  void encode(std::string_view piece, scratch& memory,
              std::vector<token_id>& out) const override {
    memory.symbols.clear();
    for (std::size_t at = 0, length = 0; at < piece.size(); at += length) {
      valid_utf8_at(piece.data() + at, length);
      const auto id = find_text(piece.substr(at, length));
      memory.symbols.push_back({id.value_or(-1), static_cast<std::uint32_t>(at),
                                static_cast<std::uint32_t>(length)});
    }
    merge_all(
        memory.symbols,
        [&](const merge_symbol& left, const merge_symbol& right) {
          const std::size_t bytes = left.bytes + right.bytes;
          if (bytes > words_.longest()) return merge_candidate{};
          const auto id = find_text(piece.substr(left.begin, bytes));
          if (!id) return merge_candidate{};
          return merge_candidate{ranks_[static_cast<std::size_t>(*id)], *id};
        },
        memory.pairs);
    for (const merge_symbol& s : memory.symbols) {
      if (s.id >= 0) {
        out.push_back(s.id);
        continue;
      }
      for (const char byte : piece.substr(s.begin, s.bytes)) {
        const token_id id = id_of(bytes_, byte);
        if (id >= 0) {
          out.push_back(id);
        } else if (unknown_) {
          out.push_back(*unknown_);
        }
      }
    }
  }

 private:
  /// Tokens that text may become: never a special one.
  std::optional<token_id> find_text(std::string_view text) const {
    const auto id = words_.find(text);
    if (id && (words_.flags(*id) & vocabulary::special)) return std::nullopt;
    return id;
  }

  const vocabulary& words_;
  std::optional<token_id> unknown_;
  byte_ids bytes_;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace

std::unique_ptr<merge_model> make_bpe(const vocabulary& words,
                                      merge_table merges,
                                      const bpe_options& options) {
  return std::make_unique<bpe>(words, std::move(merges), options);
}

std::unique_ptr<merge_model> make_spm(const vocabulary& words,
                                      const std::vector<double>& scores,
                                      std::optional<token_id> unknown) {
  return std::make_unique<spm>(words, scores, unknown);
}

}  // namespace vouch::engine
