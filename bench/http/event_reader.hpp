#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace vouch::bench {

/// Reads one answer's server-sent events, in pieces as they come: counts those
/// that carry text, and keeps what the usage says.
class event_reader {
 public:
  void reset();
  /// The next bytes of the stream; may end inside a line.
  void push(std::string_view bytes);

  /// Events with text (or with a delta whose content is not empty).
  std::size_t text_events() const { return text_events_; }
  bool done() const { return done_; }
  /// -1: not told.
  std::int64_t completion_tokens() const { return completion_tokens_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  /// What the server reported inside the stream, or what is wrong with it.
  const std::string& error() const { return error_; }

 private:
  void line(std::string_view text);
  void data(std::string_view text);

  simdjson::dom::parser parser_;
  std::string held_;
  std::size_t text_events_ = 0;
  bool done_ = false;
  std::int64_t completion_tokens_ = -1;
  std::int64_t prompt_tokens_ = -1;
  std::string error_;
};

}  // namespace vouch::bench
