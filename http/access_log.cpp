#include "http/access_log.hpp"

#include <spdlog/spdlog.h>

namespace vouch::http {

void log_access(const access_record& record) {
  auto line = fmt::format(
      "request_id={} method={} route={} status={} ms={:.1f}", record.request_id,
      record.method, record.route, record.status, record.seconds * 1e3);
  if (record.first_token_seconds >= 0)
    line +=
        fmt::format(" first_token_ms={:.1f}", record.first_token_seconds * 1e3);
  if (record.prompt_tokens > 0 || record.completion_tokens > 0) {
    line += fmt::format(
        " prompt_tokens={} completion_tokens={} cached_tokens={}",
        record.prompt_tokens, record.completion_tokens, record.cached_tokens);
  }
  if (record.drafted_tokens > 0) {
    line += fmt::format(" drafted_tokens={} accepted_tokens={}",
                        record.drafted_tokens, record.accepted_tokens);
  }
  if (!record.cut.empty()) line += " cut=" + record.cut;
  spdlog::info("{}", line);
}

}  // namespace vouch::http
