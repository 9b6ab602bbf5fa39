#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

namespace vouch::bench {

/// What one request looked like from its client. Times are seconds since the
/// run began.
struct request_record {
  double sent = 0;
  double ended = 0;
  /// When each event that carried text was read; events that came in one read
  /// have one time.
  std::vector<double> arrivals;
  /// As the server's usage says; -1 when it said nothing.
  std::int64_t completion_tokens = -1;
  std::int64_t prompt_tokens = -1;
  /// Why it failed, or empty.
  std::string error;
};

/// All requests of one client, in order.
using client_record = std::vector<request_record>;

/// The `share` quantile (0 to 1) by nearest rank; 0 of nothing.
double quantile(std::vector<double> values, double share);

/// The measurements of a run:
///   requests, errors, tokens, prompt_tokens, wall_s
///   tokens_per_s     all tokens by the wall time
///   window_s, window_tokens_per_s
///                    from the last client's first token to the first client's
///                    last one: while every client ran; 0 where that is empty
///   ttft_ms          from when a request is sent to its first text
///   itl_ms           between neighbouring events of a request
/// with median, p99 and max of the latter two, and the first errors' texts.
boost::json::object summarize(const std::vector<client_record>& clients,
                              double wall_s);

}  // namespace vouch::bench
