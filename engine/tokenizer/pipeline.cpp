#include "engine/tokenizer/pipeline.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/text/utf8.hpp"

namespace vouch::engine {

pipeline_tokenizer::pipeline_tokenizer(pipeline_parts parts)
    : words_{std::move(parts.words)}, parts_{std::move(parts)} {
  words_.freeze();
  model_ = parts_.make_model(words_);
  for (added_token& token : parts_.added) {
    if (!token.normalized) {
      raw_.add(std::move(token));
      continue;
    }
    traced_text content{token.content, {}};
    normalize(parts_.normalizers, true, content);
    token.content = std::move(content.text);
    normalized_.add(std::move(token));
  }
  // Where nothing is normalised the two sets still are looked for one after
  // the other, as `tokenizers` does.
  parts_.added.clear();
}

/// One call of encode.
struct pipeline_tokenizer::job {
  const encode_options& options;
  std::string text;
  /// End of each span in `text`, and what may be recognised in it.
  std::vector<std::size_t> ends;
  std::vector<added_token_matcher::scope> scopes;
  std::vector<token_id> out;
  piece_list pieces;
  merge_model::scratch memory;
};

std::vector<token_id> pipeline_tokenizer::encode(
    std::string_view text, const encode_options& options) const {
  return encode(std::vector<text_span>{{std::string{text}, true}}, options);
}

std::vector<token_id> pipeline_tokenizer::encode(
    const std::vector<text_span>& spans, const encode_options& options) const {
  using scope = added_token_matcher::scope;
  job work{options, {}, {}, {}, {}, {}, {}};
  for (const text_span& span : spans) {
    if (is_valid_utf8(span.text)) {
      work.text += span.text;
    } else {
      work.text += replace_invalid_utf8(span.text);
    }
    work.ends.push_back(work.text.size());
    work.scopes.push_back(!span.trusted           ? scope::spaces
                          : options.parse_special ? scope::all
                                                  : scope::plain);
  }
  if (options.add_special_tokens) work.out = parts_.prefix;

  std::vector<added_token_matcher::match> matches;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < work.ends.size(); ++i) {
    raw_.find(work.text, begin, work.ends[i], work.scopes[i], matches);
    begin = work.ends[i];
  }
  std::size_t at = 0;
  for (const auto& match : matches) {
    encode_segment(work, at, match.begin);
    work.out.push_back(match.id);
    at = match.end;
  }
  encode_segment(work, at, work.text.size());
  if (options.add_special_tokens) {
    work.out.insert(work.out.end(), parts_.suffix.begin(), parts_.suffix.end());
  }
  return std::move(work.out);
}

void pipeline_tokenizer::encode_segment(job& work, std::size_t begin,
                                        std::size_t end) const {
  if (begin == end) return;
  const std::string_view raw =
      std::string_view{work.text}.substr(begin, end - begin);
  if (parts_.normalizers.empty() && normalized_.empty()) {
    return encode_text(work, raw, begin == 0);
  }
  traced_text text{std::string{raw}, {}};
  if (!normalized_.empty()) {
    text.origin.reserve(text.text.size());
    auto span = static_cast<std::size_t>(
        std::upper_bound(work.ends.begin(), work.ends.end(), begin) -
        work.ends.begin());
    for (std::size_t at = begin; at < end; ++at) {
      while (at >= work.ends[span]) ++span;
      text.origin.push_back(static_cast<std::uint32_t>(span));
    }
  }
  normalize(parts_.normalizers, work.options.normalize, text);

  std::vector<added_token_matcher::match> matches;
  for (std::size_t at = 0; at < text.origin.size();) {
    const std::uint32_t span = text.origin[at];
    std::size_t stop = at;
    while (stop < text.origin.size() && text.origin[stop] == span) ++stop;
    normalized_.find(text.text, at, stop, work.scopes[span], matches);
    at = stop;
  }
  const std::string_view normal = text.text;
  std::size_t at = 0;
  for (const auto& match : matches) {
    encode_text(work, normal.substr(at, match.begin - at),
                begin == 0 && at == 0);
    work.out.push_back(match.id);
    at = match.end;
  }
  encode_text(work, normal.substr(at), begin == 0 && at == 0);
}

void pipeline_tokenizer::encode_text(job& work, std::string_view text,
                                     bool at_start) const {
  pre_tokenize(parts_.splitters, text, at_start, work.pieces);
  for (const std::string_view piece : work.pieces.pieces) {
    model_->encode(piece, work.memory, work.out);
  }
  work.pieces.owned.clear();
}

std::string_view pipeline_tokenizer::token_bytes(token_id token) const {
  if (!words_.has(token)) return {};
  return words_.bytes(token);
}

std::string pipeline_tokenizer::token_text(token_id token) const {
  if (!words_.has(token)) return {};
  return words_.text(token);
}

bool pipeline_tokenizer::is_special(token_id token) const {
  return (words_.flags(token) & vocabulary::special) != 0;
}

std::optional<token_id> pipeline_tokenizer::find(
    std::string_view token_text) const {
  return words_.find(token_text);
}

std::vector<token_id> pipeline_tokenizer::turn_end_tokens() const {
  constexpr std::array<std::string_view, 4> names = {
      "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>"};
  std::vector<token_id> out;
  for (const std::string_view name : names) {
    if (const auto id = words_.find(name)) out.push_back(*id);
  }
  return out;
}

}  // namespace vouch::engine
