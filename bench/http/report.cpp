#include "bench/http/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/json.hpp>

namespace vouch::bench {

namespace json = boost::json;

namespace {

constexpr std::size_t shown_errors = 5;

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

json::object spread_ms(const std::vector<double>& seconds) {
  json::object result;
  result["median"] = rounded(1e3 * quantile(seconds, 0.5));
  result["p99"] = rounded(1e3 * quantile(seconds, 0.99));
  result["max"] = rounded(1e3 * quantile(seconds, 1));
  return result;
}

/// An event may carry several tokens; a token may carry no event.
double tokens_per_event(const request_record& request) {
  if (request.completion_tokens < 0 || request.arrivals.empty()) return 1;
  return static_cast<double>(request.completion_tokens) /
         static_cast<double>(request.arrivals.size());
}

double tokens_of(const request_record& request) {
  return tokens_per_event(request) *
         static_cast<double>(request.arrivals.size());
}

struct window {
  double begin = 0;
  double end = std::numeric_limits<double>::infinity();
};

/// While every client was between its first and its last token.
window common_window(const std::vector<client_record>& clients) {
  window common;
  for (const auto& requests : clients) {
    double first = std::numeric_limits<double>::infinity();
    double last = 0;
    for (const auto& request : requests) {
      if (request.arrivals.empty()) continue;
      first = std::min(first, request.arrivals.front());
      last = std::max(last, request.arrivals.back());
    }
    common.begin = std::max(common.begin, first);
    common.end = std::min(common.end, last);
  }
  return common;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = std::ceil(share * static_cast<double>(values.size()));
  const auto place = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

json::object summarize(const std::vector<client_record>& clients,
                       double wall_s) {
  const auto common = common_window(clients);
  std::int64_t requests = 0;
  std::int64_t errors = 0;
  std::int64_t prompt_tokens = 0;
  double tokens = 0;
  double in_window = 0;
  std::vector<double> ttft;
  std::vector<double> itl;
  json::array texts;
  for (const auto& client : clients) {
    for (const auto& request : client) {
      ++requests;
      if (!request.error.empty()) {
        ++errors;
        if (texts.size() < shown_errors) {
          texts.push_back(json::value(request.error));
        }
      }
      prompt_tokens += std::max<std::int64_t>(request.prompt_tokens, 0);
      tokens += tokens_of(request);
      const auto& times = request.arrivals;
      if (times.empty()) continue;
      ttft.push_back(times.front() - request.sent);
      for (std::size_t i = 1; i < times.size(); ++i) {
        itl.push_back(times[i] - times[i - 1]);
      }
      in_window += tokens_per_event(request) *
                   static_cast<double>(std::count_if(
                       times.begin(), times.end(), [&](double at) {
                         return at > common.begin && at <= common.end;
                       }));
    }
  }
  const auto length = std::max(common.end - common.begin, 0.0);
  const bool overlapped = std::isfinite(length) && length > 0;
  json::object result;
  result["requests"] = requests;
  result["errors"] = errors;
  result["tokens"] = static_cast<std::int64_t>(std::llround(tokens));
  result["prompt_tokens"] = prompt_tokens;
  result["wall_s"] = rounded(wall_s);
  result["tokens_per_s"] = rounded(wall_s > 0 ? tokens / wall_s : 0);
  result["window_s"] = rounded(overlapped ? length : 0);
  result["window_tokens_per_s"] = rounded(overlapped ? in_window / length : 0);
  result["ttft_ms"] = spread_ms(ttft);
  result["itl_ms"] = spread_ms(itl);
  if (!texts.empty()) result["first_errors"] = std::move(texts);
  return result;
}

}  // namespace vouch::bench
