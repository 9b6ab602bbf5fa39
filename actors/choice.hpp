#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/components.hpp"
#include "actors/messages.hpp"
#include "actors/prepare.hpp"
#include "engine/text/text_stream.hpp"

namespace vouch::actors {

/// The text side of one choice: turns what SCHEDULER says about a sequence
/// into the events its client sees. A value without CAF, clock or threads.
class choice {
 public:
  choice(const generation_request& request, const prepared_request& prepared,
         std::shared_ptr<const serving> model, std::int32_t index);

  /// The event that shows the prompt (echo, prompt_logprobs). `scores` are the
  /// log-probabilities of the prompt's tokens but the first; may be empty.
  tokens show_prompt(const std::vector<engine::token_id>& prompt,
                     const std::string& text,
                     const std::vector<engine::picked_token>& scores);

  /// The event for an update; its finish_reason is set when the choice ended.
  tokens advance(const engine::sequence_update& update);

  /// Ends without computing anything (max_tokens 0).
  tokens end_at_once();

  bool ended() const { return ended_; }
  /// It ended by its text although its sequence still runs.
  bool ended_early() const { return ended_early_; }
  std::int64_t completion_tokens() const { return completion_tokens_; }
  /// What was said last about its sequence.
  const std::optional<engine::speculation_report>& speculation() const {
    return speculation_;
  }

 private:
  token_info describe(const engine::picked_token& picked, int top) const;
  tokens event() const;

  std::string id_;
  std::int32_t index_ = 0;
  std::shared_ptr<const serving> model_;
  engine::text_stream text_;
  std::vector<std::string> stop_;
  std::vector<engine::token_id> stop_token_ids_;
  int logprobs_ = -1;
  int prompt_logprobs_ = -1;
  bool echo_ = false;
  std::int64_t completion_tokens_ = 0;
  std::optional<engine::speculation_report> speculation_;
  bool ended_ = false;
  bool ended_early_ = false;
};

}  // namespace vouch::actors
