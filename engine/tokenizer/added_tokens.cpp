#include "engine/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "engine/text/utf8.hpp"
#include "engine/tokenizer/unicode.hpp"

namespace vouch::engine {

namespace {

/// The character that ends before `at`.
char32_t char_before(std::string_view text, std::size_t at,
                     std::size_t& length) {
  std::size_t begin = at - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  return valid_utf8_at(text.data() + begin, length);
}

bool is_space(char32_t code) {
  return unicode::class_of(code) == char_class::space;
}

/// White space, or SentencePiece's mark for it.
bool is_all_spaces(std::string_view text) {
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    const char32_t code = valid_utf8_at(text.data() + at, length);
    if (!is_space(code) && code != 0x2581) return false;
  }
  return true;
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  std::size_t length = 0;
  if (begin > 0 && unicode::is_word(char_before(text, begin, length))) {
    return false;
  }
  return end == text.size() ||
         !unicode::is_word(valid_utf8_at(text.data() + end, length));
}

}  // namespace

void added_token_matcher::add(added_token token) {
  if (token.content.empty()) return;
  std::uint32_t at = 0;
  for (const char c : token.content) {
    const auto byte = static_cast<unsigned char>(c);
    auto& next = nodes_[at].next;
    const auto place = std::lower_bound(next.begin(), next.end(),
                                        std::pair{byte, std::uint32_t{0}});
    if (place != next.end() && place->first == byte) {
      at = place->second;
    } else {
      const auto fresh = static_cast<std::uint32_t>(nodes_.size());
      next.insert(place, {byte, fresh});
      nodes_.emplace_back();
      at = fresh;
    }
  }
  if (nodes_[at].token >= 0) return;
  nodes_[at].token = static_cast<std::int32_t>(tokens_.size());
  begins_[static_cast<unsigned char>(token.content[0])] = true;
  const bool spaces = !token.special && is_all_spaces(token.content);
  tokens_.push_back({std::move(token), spaces});
}

const added_token_matcher::entry* added_token_matcher::longest(
    std::string_view text, std::size_t at, std::size_t end,
    scope allowed) const {
  const entry* best = nullptr;
  std::uint32_t node_index = 0;
  for (; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto& next = nodes_[node_index].next;
    const auto place = std::lower_bound(next.begin(), next.end(),
                                        std::pair{byte, std::uint32_t{0}});
    if (place == next.end() || place->first != byte) break;
    node_index = place->second;
    if (nodes_[node_index].token < 0) continue;
    const entry& e =
        tokens_[static_cast<std::size_t>(nodes_[node_index].token)];
    const bool ok = allowed == scope::all ||
                    (allowed == scope::plain && !e.token.special) || e.spaces;
    if (ok) best = &e;
  }
  return best;
}

void added_token_matcher::find(std::string_view text, std::size_t begin,
                               std::size_t end, scope allowed,
                               std::vector<match>& out) const {
  if (empty()) return;
  std::size_t free_from = begin;
  for (std::size_t at = begin; at < end;) {
    if (!begins_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const entry* found = longest(text, at, end, allowed);
    if (!found) {
      ++at;
      continue;
    }
    match hit{at, at + found->token.content.size(), found->token.id};
    at = hit.end;
    if (found->token.single_word && !stands_alone(text, hit.begin, hit.end)) {
      continue;
    }
    std::size_t length = 0;
    if (found->token.lstrip) {
      while (hit.begin > free_from &&
             is_space(char_before(text, hit.begin, length))) {
        hit.begin -= length;
      }
    }
    if (found->token.rstrip) {
      while (hit.end < end &&
             is_space(valid_utf8_at(text.data() + hit.end, length))) {
        hit.end += length;
      }
    }
    out.push_back(hit);
    free_from = hit.end;
    at = hit.end;
  }
}

}  // namespace vouch::engine
