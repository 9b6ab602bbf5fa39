#include "engine/text/stop_matcher.hpp"

#include <algorithm>
#include <utility>

namespace vouch::engine {

stop_matcher::stop_matcher(std::vector<std::string> stop_strings) {
  std::vector<pattern> patterns;
  for (std::size_t i = 0; i < stop_strings.size(); ++i) {
    std::string& text = stop_strings[i];
    if (text.empty()) continue;
    std::vector<std::size_t> border(text.size() + 1, 0);
    for (std::size_t n = 1, k = 0; n < text.size(); ++n) {
      while (k > 0 && text[n] != text[k]) k = border[k];
      if (text[n] == text[k]) ++k;
      border[n + 1] = k;
    }
    patterns.push_back({std::move(text), i, std::move(border)});
  }
  states_.assign(patterns.size(), 0);
  patterns_ = std::make_shared<const std::vector<pattern>>(std::move(patterns));
}

std::optional<stop_matcher::match> stop_matcher::push(std::string_view bytes) {
  if (found_) return found_;
  if (states_.empty()) {
    seen_ += bytes.size();
    return std::nullopt;
  }
  for (const char byte : bytes) {
    ++seen_;
    for (std::size_t p = 0; p < states_.size(); ++p) {
      const pattern& stop = (*patterns_)[p];
      std::size_t& state = states_[p];
      while (state > 0 && stop.text[state] != byte) state = stop.border[state];
      if (stop.text[state] == byte) ++state;
      if (state == stop.text.size() &&
          (!found_ || seen_ - state < found_->begin)) {
        found_ = match{seen_ - state, seen_, stop.index};
      }
    }
    if (found_) return found_;
  }
  return std::nullopt;
}

std::size_t stop_matcher::held() const {
  if (found_ || states_.empty()) return 0;
  return *std::max_element(states_.begin(), states_.end());
}

}  // namespace vouch::engine
