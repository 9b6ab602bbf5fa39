#include "bench/http/event_reader.hpp"

namespace vouch::bench {

namespace dom = simdjson::dom;

namespace {

bool has_text(dom::element choice) {
  std::string_view text;
  if (choice["text"].get(text) == simdjson::SUCCESS && !text.empty())
    return true;
  return choice["delta"]["content"].get(text) == simdjson::SUCCESS &&
         !text.empty();
}

}  // namespace

void event_reader::reset() {
  held_.clear();
  text_events_ = 0;
  done_ = false;
  completion_tokens_ = -1;
  prompt_tokens_ = -1;
  error_.clear();
}

void event_reader::push(std::string_view bytes) {
  while (error_.empty()) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) break;
    if (held_.empty()) {
      line(bytes.substr(0, end));
    } else {
      held_ += bytes.substr(0, end);
      line(held_);
      held_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  held_ += bytes;
}

void event_reader::line(std::string_view text) {
  constexpr std::string_view prefix = "data:";
  if (!text.starts_with(prefix)) return;
  text.remove_prefix(prefix.size());
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  data(text);
}

void event_reader::data(std::string_view text) {
  if (text == "[DONE]") {
    done_ = true;
    return;
  }
  dom::element chunk;
  if (parser_.parse(text.data(), text.size()).get(chunk) != simdjson::SUCCESS) {
    error_ = "an event is not JSON: " + std::string{text};
    return;
  }
  dom::element found;
  if (chunk["error"].get(found) == simdjson::SUCCESS) {
    error_ = "the stream reports: " + simdjson::to_string(found);
    return;
  }
  dom::array choices;
  if (chunk["choices"].get(choices) == simdjson::SUCCESS) {
    for (const auto choice : choices) text_events_ += has_text(choice);
  }
  dom::object usage;
  if (chunk["usage"].get(usage) == simdjson::SUCCESS) {
    std::int64_t value = 0;
    if (usage["completion_tokens"].get(value) == simdjson::SUCCESS)
      completion_tokens_ = value;
    if (usage["prompt_tokens"].get(value) == simdjson::SUCCESS)
      prompt_tokens_ = value;
  }
}

}  // namespace vouch::bench
