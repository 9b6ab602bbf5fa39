#include "http/cors.hpp"

#include <algorithm>
#include <cctype>

namespace vouch::http {

namespace {

constexpr std::size_t max_requested_headers = 4096;

bool any_allowed(const std::vector<std::string>& allowed) {
  return std::find(allowed.begin(), allowed.end(), "*") != allowed.end();
}

// Nothing but a list of header names goes back to the peer.
bool is_name_list(std::string_view text) {
  return !text.empty() && text.size() <= max_requested_headers &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == ',' ||
                  c == ' ';
         });
}

}  // namespace

bool cors_allows(std::string_view origin,
                 const std::vector<std::string>& allowed) {
  if (origin.empty()) return false;
  return any_allowed(allowed) ||
         std::find(allowed.begin(), allowed.end(), origin) != allowed.end();
}

std::string cors_headers(std::string_view origin,
                         const std::vector<std::string>& allowed) {
  std::string lines;
  if (allowed.empty()) return lines;
  const bool any = any_allowed(allowed);
  if (!any) lines += "vary: origin\r\n";
  if (!cors_allows(origin, allowed)) return lines;
  lines += "access-control-allow-origin: ";
  // Only what the operator wrote is sent.
  lines += any ? std::string_view{"*"} : origin;
  lines +=
      "\r\naccess-control-expose-headers: x-request-id, x-vouch-seed, "
      "retry-after\r\n";
  return lines;
}

reply preflight_reply(std::string_view requested_headers) {
  reply response;
  response.status = 204;
  const std::string headers{is_name_list(requested_headers)
                                ? requested_headers
                                : "authorization, content-type, x-api-key, "
                                  "x-request-id"};
  response.headers = {
      {"access-control-allow-methods", "GET, HEAD, POST, OPTIONS"},
      {"access-control-allow-headers", headers},
      {"access-control-max-age", "600"},
  };
  return response;
}

}  // namespace vouch::http
