#include "actors/choice.hpp"

#include <algorithm>
#include <limits>

namespace vouch::actors {

choice::choice(const generation_request& request,
               const prepared_request& prepared,
               std::shared_ptr<const serving> model, std::int32_t index)
    : id_(request.id),
      index_(index),
      model_(std::move(model)),
      text_(model_->parts.tokenizer, request.stop, request.skip_special_tokens,
            request.include_stop_string),
      stop_(request.stop),
      stop_token_ids_(request.stop_token_ids),
      logprobs_(prepared.logprobs),
      prompt_logprobs_(prepared.prompt_logprobs),
      echo_(request.echo) {}

tokens choice::event() const {
  tokens out;
  out.id = id_;
  out.choice = index_;
  return out;
}

token_info choice::describe(const engine::picked_token& picked, int top) const {
  token_info out;
  out.token = picked.token;
  out.bytes = model_->parts.tokenizer->token_bytes(picked.token);
  out.logprob = picked.logprob;
  const auto shown = std::min<std::size_t>(
      picked.top.size(), static_cast<std::size_t>(std::max(top, 0)));
  out.top.assign(picked.top.begin(),
                 picked.top.begin() + static_cast<std::ptrdiff_t>(shown));
  return out;
}

tokens choice::show_prompt(const std::vector<engine::token_id>& prompt,
                           const std::string& text,
                           const std::vector<engine::picked_token>& scores) {
  auto out = event();
  if (echo_) {
    out.text = text;
  }
  out.prompt.reserve(prompt.size());
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    engine::picked_token known;
    known.token = prompt[i];
    known.logprob = std::numeric_limits<float>::quiet_NaN();
    if (i > 0 && i - 1 < scores.size()) {
      known.logprob = scores[i - 1].logprob;
      known.top = scores[i - 1].top;
    }
    out.prompt.push_back(describe(known, prompt_logprobs_));
  }
  return out;
}

tokens choice::advance(const engine::sequence_update& update) {
  auto out = event();
  if (ended_) {
    return out;
  }
  if (update.speculation) speculation_ = update.speculation;
  for (const auto& picked : update.tokens) {
    out.text += text_.push(picked.token);
    out.emitted.push_back(describe(picked, logprobs_));
    if (text_.stopped()) {
      break;
    }
  }
  completion_tokens_ += static_cast<std::int64_t>(out.emitted.size());
  if (!update.finished && !text_.stopped()) {
    return out;
  }
  ended_ = true;
  out.speculation = speculation_;
  ended_early_ = !update.finished;
  out.text += text_.finish();
  const bool stopped =
      text_.stopped() || update.reason == engine::finish_reason::stop;
  out.finish_reason = stopped ? "stop" : "length";
  // The text decides: SCHEDULER does not see every stop string.
  if (text_.stopped()) {
    out.stop_reason = stop_.at(text_.stop_index());
  } else if (std::find(stop_token_ids_.begin(), stop_token_ids_.end(),
                       update.stop_token) != stop_token_ids_.end()) {
    out.stop_token = update.stop_token;
  }
  return out;
}

tokens choice::end_at_once() {
  auto out = event();
  ended_ = true;
  out.text = text_.finish();
  out.finish_reason = "length";
  return out;
}

}  // namespace vouch::actors
