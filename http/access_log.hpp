#pragma once

#include <cstdint>
#include <string>

namespace vouch::http {

/// What one request leaves in the log. No prompt text, nothing a client wrote
/// but its request id.
struct access_record {
  std::string request_id;
  std::string method;
  /// The route's pattern, or "-".
  std::string route;
  /// 499: the client left first.
  int status = 0;
  double seconds = 0;
  /// Negative: no token came.
  double first_token_seconds = -1;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
  /// Drafts that were verified, and those that became text.
  std::int64_t drafted_tokens = 0;
  std::int64_t accepted_tokens = 0;
  /// Why the connection was cut, or empty.
  std::string cut;
};

void log_access(const access_record& record);

}  // namespace vouch::http
