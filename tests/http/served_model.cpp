#include "tests/http/served_model.hpp"

#include <stdexcept>

#include <spdlog/spdlog.h>

namespace vouch::test {

namespace json = boost::json;

served_model::served_model(fake_executor_options options,
                           runtime::config settings) {
  spdlog::set_level(spdlog::level::off);
  settings.server.host = "127.0.0.1";
  settings.server.port = 0;
  runtime_ = std::make_unique<runtime::runtime>(
      system_, settings,
      make_fake_components(std::move(options), fake_chat_template));
  runtime_->wait_until_ready();
  server_ = std::make_unique<http::server>(system_, *runtime_, settings);
  port_ = server_->start();
}

served_model::~served_model() {
  server_.reset();
  runtime_.reset();
}

raw_response served_model::ask(std::string_view request) const {
  return test::ask(port_, request);
}

json::value served_model::json(std::string_view target,
                               std::string_view body) const {
  return json::parse(ask(post(target, body)).body);
}

std::string served_model::text(std::string_view target,
                               json::object body) const {
  const auto answer = json(target, json::serialize(body));
  const auto* error = answer.as_object().if_contains("error");
  if (error) throw std::runtime_error{json::serialize(*error)};
  const auto& choice = answer.at("choices").at(0).as_object();
  return json::value_to<std::string>(choice.contains("message")
                                         ? choice.at("message").at("content")
                                         : choice.at("text"));
}

std::vector<std::string> served_model::deltas(std::string_view target,
                                              json::object body) const {
  body["stream"] = true;
  const auto response = ask(post(target, json::serialize(body)));
  if (response.status != 200) throw std::runtime_error{response.body};
  std::vector<std::string> result;
  for (const auto& data : sse_data(response.body)) {
    if (data == "[DONE]") return result;
    const auto chunk = json::parse(data);
    if (chunk.at("choices").as_array().empty()) continue;
    const auto& choice = chunk.at("choices").at(0).as_object();
    const auto& holder =
        choice.contains("delta") ? choice.at("delta").as_object() : choice;
    const auto* text = holder.if_contains("content");
    if (!text) text = holder.if_contains("text");
    if (text) result.push_back(json::value_to<std::string>(*text));
  }
  throw std::runtime_error{"the stream did not end: " + response.body};
}

bool served_model::at_rest() const {
  const auto stats = runtime_->stats();
  return stats.running == 0 && stats.waiting == 0 &&
         stats.free_blocks + stats.cached_blocks >= stats.total_blocks;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string whole;
  for (const auto& part : parts) whole += part;
  return whole;
}

}  // namespace vouch::test
