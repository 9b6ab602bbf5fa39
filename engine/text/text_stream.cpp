#include "engine/text/text_stream.hpp"

#include <utility>

namespace vouch::engine {

text_stream::text_stream(std::shared_ptr<const tokenizer> tokens,
                         std::vector<std::string> stop_strings,
                         bool skip_special_tokens, bool include_stop_string)
    : tokenizer_{std::move(tokens)},
      stops_{std::move(stop_strings)},
      skip_special_{skip_special_tokens},
      include_stop_{include_stop_string} {}

std::string text_stream::release(std::size_t count) {
  std::string out;
  std::size_t from = 0;
  std::size_t used = 0;
  for (; used < breaks_.size() && breaks_[used] <= count; ++used) {
    out +=
        utf8_.push(std::string_view{held_}.substr(from, breaks_[used] - from));
    out += utf8_.finish();
    from = breaks_[used];
  }
  out += utf8_.push(std::string_view{held_}.substr(from, count - from));
  held_.erase(0, count);
  breaks_.erase(breaks_.begin(),
                breaks_.begin() + static_cast<std::ptrdiff_t>(used));
  for (std::size_t& position : breaks_) position -= count;
  return out;
}

std::string text_stream::push(token_id token) {
  if (stopped_) return {};
  if (skip_special_ && tokenizer_->is_special(token)) {
    breaks_.push_back(held_.size());
  } else {
    const std::size_t held_from = stops_.size() - held_.size();
    const std::string_view bytes = tokenizer_->token_bytes(token);
    held_ += bytes;
    if (const auto match = stops_.push(bytes)) {
      stopped_ = true;
      stop_index_ = match->index;
      const std::size_t end = include_stop_ ? match->end : match->begin;
      std::string out = release(end - held_from);
      out += utf8_.finish();
      held_.clear();
      breaks_.clear();
      return out;
    }
  }
  return release(held_.size() - stops_.held());
}

std::string text_stream::finish() {
  if (stopped_) return {};
  std::string out = release(held_.size());
  out += utf8_.finish();
  return out;
}

}  // namespace vouch::engine
