#pragma once

#include <string>
#include <vector>

#include "tests/http/served_model.hpp"

// Requests and models for tests of the whole way.

namespace vouch::http {

inline const std::string chat_route = "/v1/chat/completions";
inline const std::string completion_route = "/v1/completions";

inline boost::json::object chat_body(const std::string& content) {
  boost::json::object message;
  message["role"] = "user";
  message["content"] = content;
  boost::json::object body;
  body["messages"] = boost::json::array{message};
  body["max_tokens"] = 40;
  body["temperature"] = 0;
  return body;
}

inline boost::json::object completion_body(const std::string& prompt) {
  boost::json::object body;
  body["prompt"] = prompt;
  body["max_tokens"] = 40;
  body["temperature"] = 0;
  return body;
}

// A model that says `text`, whatever a completion's prompt ("hi") was.
inline test::fake_executor_options saying(const std::string& text) {
  std::vector<engine::token_id> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  test::fake_executor_options options;
  // <s>, "h", "i".
  options.pick = test::script(tokens, 3, test::fake_turn_end);
  return options;
}

}  // namespace vouch::http
