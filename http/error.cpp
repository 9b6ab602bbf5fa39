#include "http/error.hpp"

#include <utility>

#include <boost/json.hpp>

#include "http/text.hpp"

namespace vouch::http {

api_error::api_error(int status, const std::string& message, std::string param,
                     std::string code)
    : std::runtime_error(valid_utf8(message)),
      status_{status},
      param_{valid_utf8(param)},
      code_{std::move(code)} {}

std::string api_error::type() const {
  if (status_ == 501) return "not_implemented_error";
  return status_ < 500 ? "invalid_request_error" : "server_error";
}

int api_error::retry_after() const {
  return status_ == 429 || status_ == 503 ? 1 : 0;
}

std::string api_error::json() const {
  boost::json::object error;
  error["message"] = what();
  error["type"] = type();
  error["param"] = nullptr;
  error["code"] = nullptr;
  if (!param_.empty()) error["param"] = param_;
  if (!code_.empty()) error["code"] = code_;
  boost::json::object body;
  body["error"] = std::move(error);
  return boost::json::serialize(body);
}

api_error bad_field(const std::string& param, const std::string& detail) {
  return {400, param + ": " + detail, param, "invalid_value"};
}

api_error not_built_field(const std::string& param, const std::string& what) {
  return {400, param + ": " + what + " is not built yet", param, "not_built"};
}

api_error from_failure(const actors::failed& event) {
  using actors::failure;
  switch (event.kind) {
    case failure::invalid:
      return {400, event.message, event.param, "invalid_value"};
    case failure::context_length:
      return {400, event.message, event.param, "context_length_exceeded"};
    case failure::queue_full:
      return {503, event.message, event.param, "queue_full"};
    case failure::unavailable:
      return {503, event.message, event.param, "unavailable"};
    case failure::timeout:
      return {504, event.message, event.param, "timeout"};
    case failure::cancelled:
      return {503, event.message, event.param, "cancelled"};
    case failure::internal:
      break;
  }
  return {500, event.message, event.param, "internal_error"};
}

}  // namespace vouch::http
