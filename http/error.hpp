#pragma once

#include <stdexcept>
#include <string>

#include "actors/messages.hpp"

namespace vouch::http {

/// What a client is told instead of an answer:
/// `{"error":{"message","type","param","code"}}` under `status`.
class api_error : public std::runtime_error {
 public:
  api_error(int status, const std::string& message, std::string param = {},
            std::string code = {});

  int status() const { return status_; }
  const std::string& param() const { return param_; }
  const std::string& code() const { return code_; }
  /// "invalid_request_error", "not_implemented_error" or "server_error".
  std::string type() const;
  /// Seconds for `Retry-After`; 0: the header is not sent.
  int retry_after() const;
  /// The body.
  std::string json() const;

 private:
  int status_;
  std::string param_;
  std::string code_;
};

/// A 400 about one field.
api_error bad_field(const std::string& param, const std::string& detail);

/// A 400 about a field whose feature is not built yet.
api_error not_built_field(const std::string& param, const std::string& what);

/// The status a failed request maps to.
api_error from_failure(const actors::failed& event);

}  // namespace vouch::http
