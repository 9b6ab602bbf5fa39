#include "tests/http/scripted_backend.hpp"

#include <chrono>
#include <stdexcept>

namespace vouch::test {

namespace {

class held : public http::generation {
 public:
  explicit held(std::shared_ptr<scripted_generation> item)
      : item_{std::move(item)} {}
  ~held() override { item_->let_go = true; }

 private:
  std::shared_ptr<scripted_generation> item_;
};

}  // namespace

void scripted_generation::start() {
  for (const auto& request : requests)
    sink(actors::started{request.id, 4, request.sampling.seed, 16});
}

void scripted_generation::text(
    const std::string& piece, const std::string& finish,
    std::optional<engine::speculation_report> report) {
  actors::tokens event;
  event.id = requests[0].id;
  event.text = piece;
  event.finish_reason = finish;
  event.speculation = std::move(report);
  sink(event);
}

void scripted_generation::finish() {
  for (const auto& request : requests)
    sink(actors::finished{request.id, 4, 2, 1});
}

void scripted_generation::fail(actors::failure kind,
                               const std::string& message) {
  sink(actors::failed{requests[0].id, kind, message, ""});
}

scripted_backend::scripted_backend() {
  info = std::make_shared<runtime::model_info>();
  info->name = "tiny";
  info->vocab_size = 256;
  info->max_context = 128;
  info->has_chat_template = true;
  info->fingerprint = "fp";
}

std::shared_ptr<const runtime::model_info> scripted_backend::model() const {
  checked_on = std::this_thread::get_id();
  if (now == runtime::state::loading) return nullptr;
  return info;
}

std::unique_ptr<http::generation> scripted_backend::submit(
    std::vector<actors::generation_request> requests, http::event_sink sink) {
  auto item = std::make_shared<scripted_generation>();
  item->requests = std::move(requests);
  item->sink = std::move(sink);
  const std::lock_guard lock{mutex_};
  all_.push_back(item);
  more_.notify_all();
  return std::make_unique<held>(std::move(item));
}

std::vector<engine::token_id> scripted_backend::tokenize(
    const http::tokenize_job& job) const {
  std::vector<engine::token_id> ids;
  for (const char c : job.text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::string scripted_backend::detokenize(
    const std::vector<engine::token_id>& tokens, bool) const {
  std::string text;
  for (const auto id : tokens) text += static_cast<char>(id);
  return text;
}

std::string scripted_backend::token_bytes(engine::token_id token) const {
  return {static_cast<char>(token)};
}

std::string scripted_backend::apply_template(
    const http::template_job& job) const {
  return "<" + job.messages + ">";
}

std::shared_ptr<scripted_generation> scripted_backend::wait_for(
    std::size_t number) {
  std::unique_lock lock{mutex_};
  if (!more_.wait_for(lock, std::chrono::seconds{20},
                      [&] { return all_.size() > number; }))
    throw std::runtime_error{"nothing was submitted"};
  return all_[number];
}

actors::speculation_view scripted_backend::speculation() const {
  const std::lock_guard lock{mutex_};
  return view_;
}

void scripted_backend::set_speculation(actors::speculation_view now) {
  const std::lock_guard lock{mutex_};
  view_ = std::move(now);
}

std::size_t scripted_backend::submitted() const {
  const std::lock_guard lock{mutex_};
  return all_.size();
}

}  // namespace vouch::test
