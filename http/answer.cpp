#include "http/answer.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

namespace vouch::http {

namespace json = boost::json;

namespace {

// A stop string, or the id of a stop token.
void add_stop_reason(json::object& choice, const std::string& text,
                     engine::token_id token) {
  if (token >= 0) {
    choice["stop_reason"] = token;
  } else if (!text.empty()) {
    choice["stop_reason"] = text;
  }
}

json::value or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(text);
}

}  // namespace

std::string sse_event(std::string_view data) {
  std::string event = "data: ";
  event += data;
  event += "\n\n";
  return event;
}

answer::answer(const generation_job& job, answer_stamp stamp,
               token_bytes_function token_bytes)
    : kind_{job.kind},
      n_{job.n},
      stream_{job.stream},
      include_usage_{job.include_usage},
      logprobs_{job.logprobs},
      prompt_logprobs_{job.prompt_logprobs},
      echo_top_{job.echo_top},
      prompt_top_{job.prompt_top},
      echo_{job.echo},
      report_{std::any_of(
          job.requests.begin(), job.requests.end(),
          [](const auto& request) { return request.speculation.report; })},
      stamp_{std::move(stamp)},
      token_bytes_{std::move(token_bytes)},
      choices_(job.requests.size() * static_cast<std::size_t>(job.n)),
      waiting_{job.requests.size()},
      running_{job.requests.size()},
      choices_running_{choices_.size()} {
  std::size_t index = 0;
  for (const auto& request : job.requests)
    progress_[request.id].index = index++;
  if (!stream_) return;
  chunk_begin_ =
      "data: " + json::serialize(stamped(kind_ == generation_kind::chat
                                             ? "chat.completion.chunk"
                                             : "text_completion"));
  chunk_begin_.pop_back();
  chunk_begin_ += ",\"choices\":[";
  chunk_end_ = include_usage_ ? ",\"usage\":null}\n\n" : "}\n\n";
}

void answer::apply(generation_event event) {
  if (done()) return;
  std::visit(
      [this](auto& value) {
        const auto found = progress_.find(value.id);
        if (found == progress_.end() || found->second.ended) return;
        on(value, found->second);
      },
      event);
}

void answer::on(const actors::started& event, progress& state) {
  if (std::exchange(state.started, true)) return;
  state.prompt_tokens = event.prompt_tokens;
  prompt_tokens_ += event.prompt_tokens;
  if (state.index == 0) seed_ = static_cast<std::int64_t>(event.seed);
  if (--waiting_ == 0) stream_roles();
}

void answer::on(actors::tokens& event, progress& state) {
  if (event.choice < 0 || event.choice >= n_) return;
  const auto count = static_cast<std::int64_t>(event.emitted.size());
  state.completion_tokens += count;
  completion_tokens_ += count;
  const auto index = state.index * static_cast<std::size_t>(n_) +
                     static_cast<std::size_t>(event.choice);
  auto& into = choices_[index];
  if (event.speculation) into.speculation = event.speculation;
  if (!event.finish_reason.empty() && choices_running_ > 0) --choices_running_;
  if (stream_) return stream_tokens(index, event);
  into.text += event.text;
  if (!event.finish_reason.empty()) into.finish_reason = event.finish_reason;
  if (!event.stop_reason.empty()) into.stop_reason = event.stop_reason;
  if (event.stop_token >= 0) into.stop_token = event.stop_token;
  if (logprobs_ || prompt_logprobs_) {
    for (auto& token : event.prompt) into.prompt.push_back(std::move(token));
    for (auto& token : event.emitted) into.emitted.push_back(std::move(token));
  }
}

void answer::on(const actors::finished& event, progress& state) {
  state.ended = true;
  prompt_tokens_ += event.prompt_tokens - state.prompt_tokens;
  completion_tokens_ += event.completion_tokens - state.completion_tokens;
  cached_tokens_ += event.cached_tokens;
  if (--running_ == 0) stream_end();
}

void answer::on(const actors::failed& event, progress& state) {
  state.ended = true;
  cancelled_ = event.kind == actors::failure::cancelled;
  error_ = from_failure(event);
  if (stream_ && started())
    out_ += "event: error\n" + sse_event(error_->json());
}

json::object answer::stamped(std::string_view object) const {
  json::object result;
  result["id"] = stamp_.id;
  result["object"] = json::string_view{object.data(), object.size()};
  result["created"] = stamp_.created;
  result["model"] = stamp_.model;
  result["system_fingerprint"] = or_null(stamp_.fingerprint);
  return result;
}

json::object answer::usage() const {
  json::object result;
  result["prompt_tokens"] = prompt_tokens_;
  result["completion_tokens"] = completion_tokens_;
  result["total_tokens"] = prompt_tokens_ + completion_tokens_;
  result["prompt_tokens_details"] = {{"cached_tokens", cached_tokens_}};
  const auto drafts = merged(reports());
  result["completion_tokens_details"] = {
      {"accepted_prediction_tokens", drafts.accepted},
      {"rejected_prediction_tokens", drafts.rejected()}};
  return result;
}

choice_reports answer::reports() const {
  choice_reports out;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].speculation) out.emplace_back(i, &*choices_[i].speculation);
  }
  return out;
}

// Asked for, or the stream's header has promised more than was kept.
bool answer::shows_report() const {
  return report_ || (stream_ && receipt_.vouched && !final_receipt().vouched);
}

void answer::add_chunk(const std::string& choice_json,
                       const std::string& more) {
  out_ += chunk_begin_;
  out_ += choice_json;
  out_ += ']';
  out_ += more;
  out_ += chunk_end_;
}

void answer::stream_roles() {
  if (!stream_ || kind_ != generation_kind::chat) return;
  // Tokens of prompts admitted earlier may stand in out_ already.
  auto later = std::exchange(out_, {});
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    json::object choice;
    choice["index"] = i;
    choice["delta"] = {{"role", "assistant"}, {"content", ""}};
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = nullptr;
    add_chunk(json::serialize(choice));
  }
  out_ += later;
}

// What logprobs show: an echoed prompt first.
std::vector<actors::token_info> answer::shown_tokens(
    const actors::tokens& event) const {
  std::vector<actors::token_info> tokens;
  if (echo_) tokens = event.prompt;
  tokens.insert(tokens.end(), event.emitted.begin(), event.emitted.end());
  return tokens;
}

// What nearly every chunk is; spelled out, because one is made for every token.
void answer::add_text(std::size_t index, const std::string& text) {
  const bool chat = kind_ == generation_kind::chat;
  out_ += chunk_begin_;
  out_ += "{\"index\":";
  out_ += std::to_string(index);
  out_ += chat ? ",\"delta\":{\"content\":" : ",\"text\":";
  out_ += json::serialize(json::string_view{text.data(), text.size()});
  if (chat) out_ += '}';
  out_ += ",\"logprobs\":null,\"finish_reason\":null}]";
  out_ += chunk_end_;
}

void answer::stream_tokens(std::size_t index, const actors::tokens& event) {
  const auto tokens =
      logprobs_ ? shown_tokens(event) : std::vector<actors::token_info>{};
  const bool last = !event.finish_reason.empty();
  const bool chat = kind_ == generation_kind::chat;
  const bool content = !event.text.empty() || !tokens.empty();
  std::string report;
  if (last && choices_running_ == 0 && !include_usage_ && shows_report()) {
    report = ",\"speculation\":" +
             json::serialize(report_object(receipt_, reports()));
  }
  if (!content && !last) return;
  if (tokens.empty() && !last) return add_text(index, event.text);
  auto choice_start = [&] {
    json::object choice;
    choice["index"] = index;
    return choice;
  };
  if (content || !chat) {
    auto choice = choice_start();
    if (chat) {
      choice["delta"] = {{"content", event.text}};
    } else {
      choice["text"] = event.text;
    }
    choice["logprobs"] = nullptr;
    if (!tokens.empty()) {
      choice["logprobs"] =
          chat ? chat_logprobs(tokens, token_bytes_)
               : completion_logprobs(tokens, choices_[index].offset,
                                     token_bytes_);
    }
    choice["finish_reason"] = nullptr;
    if (!chat && last) {
      choice["finish_reason"] = event.finish_reason;
      add_stop_reason(choice, event.stop_reason, event.stop_token);
    }
    add_chunk(json::serialize(choice), chat ? std::string{} : report);
  }
  if (chat && last) {
    auto choice = choice_start();
    choice["delta"] = json::object{};
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = event.finish_reason;
    add_stop_reason(choice, event.stop_reason, event.stop_token);
    add_chunk(json::serialize(choice), report);
  }
}

void answer::stream_end() {
  if (!stream_) return;
  if (include_usage_) {
    auto chunk =
        stamped(kind_ == generation_kind::chat ? "chat.completion.chunk"
                                               : "text_completion");
    chunk["choices"] = json::array{};
    chunk["usage"] = usage();
    if (shows_report())
      chunk["speculation"] = report_object(receipt_, reports());
    out_ += sse_event(json::serialize(chunk));
  }
  out_ += sse_event("[DONE]");
}

std::string answer::take_stream() {
  if (!stream_ || !started()) return {};
  return std::exchange(out_, {});
}

json::object answer::choice_object(std::size_t index) const {
  const auto& from = choices_[index];
  const bool chat = kind_ == generation_kind::chat;
  json::object choice;
  choice["index"] = index;
  if (chat) {
    choice["message"] = {
        {"role", "assistant"}, {"content", from.text}, {"refusal", nullptr}};
  } else {
    choice["text"] = from.text;
  }
  choice["logprobs"] = nullptr;
  if (logprobs_) {
    actors::tokens all;
    all.prompt = likeliest(from.prompt, echo_top_);
    all.emitted = from.emitted;
    const auto tokens = shown_tokens(all);
    std::size_t offset = 0;
    choice["logprobs"] =
        chat ? chat_logprobs(tokens, token_bytes_)
             : completion_logprobs(tokens, offset, token_bytes_);
  }
  choice["finish_reason"] = or_null(from.finish_reason);
  add_stop_reason(choice, from.stop_reason, from.stop_token);
  if (prompt_logprobs_ && !chat)
    choice["prompt_logprobs"] =
        prompt_logprobs(likeliest(from.prompt, prompt_top_), token_bytes_);
  return choice;
}

std::string answer::body() const {
  const bool chat = kind_ == generation_kind::chat;
  auto result = stamped(chat ? "chat.completion" : "text_completion");
  json::array choices;
  for (std::size_t i = 0; i < choices_.size(); ++i)
    choices.push_back(choice_object(i));
  result["choices"] = std::move(choices);
  result["usage"] = usage();
  result["seed"] = seed_;
  if (shows_report())
    result["speculation"] = report_object(receipt_, reports());
  if (prompt_logprobs_ && chat)
    result["prompt_logprobs"] = prompt_logprobs(
        likeliest(choices_.front().prompt, prompt_top_), token_bytes_);
  return json::serialize(result);
}

}  // namespace vouch::http
