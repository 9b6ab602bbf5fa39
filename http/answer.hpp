#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/messages.hpp"
#include "http/error.hpp"
#include "http/logprobs.hpp"
#include "http/receipt.hpp"
#include "http/schema.hpp"

namespace vouch::http {

/// What comes back from a generation.
using generation_event = std::variant<actors::started, actors::tokens,
                                      actors::finished, actors::failed>;

/// One server-sent event.
std::string sse_event(std::string_view data);

/// What an answer is stamped with.
struct answer_stamp {
  /// "chatcmpl-..." or "cmpl-...".
  std::string id;
  std::int64_t created = 0;
  std::string model;
  std::string fingerprint;
};

/// Turns a job's events into OpenAI's shapes: one JSON body, or server-sent
/// events. A pure value; the session asks it what may be written.
class answer {
 public:
  /// `job.requests` must carry their ids already.
  answer(const generation_job& job, answer_stamp stamp,
         token_bytes_function token_bytes);

  void apply(generation_event event);

  /// Every prompt was admitted: the moment for a 200.
  bool started() const { return waiting_ == 0; }
  /// Nothing follows: finished or failed.
  bool done() const { return error_ || running_ == 0; }
  const std::optional<api_error>& error() const { return error_; }
  bool cancelled() const { return cancelled_; }
  /// The seed in use, once started.
  std::int64_t seed() const { return seed_; }

  /// Streaming: the events that came up since the last call; empty until
  /// started. After an error or the end it has the closing events too.
  std::string take_stream();
  /// Not streaming: the whole body, once done without error.
  std::string body() const;

  /// Counts so far; exact at the end.
  std::int64_t prompt_tokens() const { return prompt_tokens_; }
  std::int64_t completion_tokens() const { return completion_tokens_; }
  std::int64_t cached_tokens() const { return cached_tokens_; }
  /// Drafts that were verified, and those that became text.
  std::int64_t drafted_tokens() const { return merged(reports()).drafted; }
  std::int64_t accepted_tokens() const { return merged(reports()).accepted; }

  /// What stands behind the bytes as the answer begins; a stream's header has
  /// said it then.
  void begin(receipt at_start) { receipt_ = std::move(at_start); }
  /// What stood behind them, once done.
  receipt final_receipt() const { return settled(receipt_, reports()); }

 private:
  struct choice {
    std::string text;
    std::string finish_reason;
    std::string stop_reason;
    engine::token_id stop_token = -1;
    std::vector<actors::token_info> prompt;
    std::vector<actors::token_info> emitted;
    std::size_t offset = 0;
    std::optional<engine::speculation_report> speculation;
  };
  struct progress {
    std::size_t index = 0;
    bool started = false;
    bool ended = false;
    std::int64_t prompt_tokens = 0;
    std::int64_t completion_tokens = 0;
  };

  void on(const actors::started& event, progress& state);
  void on(actors::tokens& event, progress& state);
  void on(const actors::finished& event, progress& state);
  void on(const actors::failed& event, progress& state);
  void stream_roles();
  void stream_tokens(std::size_t index, const actors::tokens& event);
  void stream_end();
  void add_chunk(const std::string& choice_json, const std::string& more = {});
  void add_text(std::size_t index, const std::string& text);
  boost::json::object stamped(std::string_view object) const;
  boost::json::object usage() const;
  choice_reports reports() const;
  bool shows_report() const;
  boost::json::object choice_object(std::size_t index) const;
  std::vector<actors::token_info> shown_tokens(const actors::tokens&) const;

  generation_kind kind_;
  std::int32_t n_;
  bool stream_;
  bool include_usage_;
  bool logprobs_;
  bool prompt_logprobs_;
  std::size_t echo_top_;
  std::size_t prompt_top_;
  bool echo_;
  bool report_;
  receipt receipt_;
  answer_stamp stamp_;
  /// What every chunk of a stream begins and ends with, around its choice.
  std::string chunk_begin_;
  std::string chunk_end_;
  token_bytes_function token_bytes_;

  std::map<std::string, progress, std::less<>> progress_;
  std::vector<choice> choices_;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
  std::size_t choices_running_ = 0;
  std::string out_;
  std::optional<api_error> error_;
  bool cancelled_ = false;
  std::int64_t seed_ = 0;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t completion_tokens_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace vouch::http
