#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/error.hpp"

namespace vouch::http {

/// A whole response, before it is framed.
struct reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  /// Further headers.
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The response an error gives.
reply error_reply(const api_error& error);

/// "Not Found" for 404.
std::string_view reason_phrase(int status);

/// How a response is framed on its connection.
struct framing {
  int minor_version = 1;
  bool keep_alive = true;
  /// A HEAD request: the length is told, the body is not sent.
  bool head_only = false;
  /// Whole lines; see cors_headers.
  std::string cors;
};

/// The bytes of a whole response.
std::string framed(const reply& response, const std::string& request_id,
                   const framing& how);

/// The head of a streamed response (server-sent events). HTTP/1.1 is chunked;
/// HTTP/1.0 ends with the connection.
std::string stream_head(
    const std::vector<std::pair<std::string, std::string>>& headers,
    const std::string& request_id, const framing& how);

/// `payload` as one chunk (HTTP/1.1) or as it is.
std::string stream_piece(const std::string& payload, const framing& how);

/// What ends a streamed body.
std::string_view stream_tail(const framing& how);

}  // namespace vouch::http
