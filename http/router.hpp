#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/reply.hpp"

namespace vouch::http {

/// Where a request goes.
enum class route_id : std::uint8_t {
  chat,
  completions,
  models,
  model,
  tokenize,
  detokenize,
  apply_template,
  health,
  ready,
  metrics,
  speculation,
  version,
};

/// A request's head, as far as routing and keys need it.
struct request_head {
  std::string method;
  std::string target;
  std::string content_type;
  std::string content_encoding;
  /// Of `Authorization: Bearer`, else of `x-api-key`.
  std::string key;
};

/// Either a route to go on with, or the answer already.
struct routing {
  std::optional<route_id> route;
  /// {id} of /v1/models/{id}, decoded.
  std::string argument;
  std::optional<reply> answer;
  /// For the log: the route's pattern, never what the client wrote.
  std::string name = "-";
  /// Index of the key that was used, or -1.
  int key = -1;
};

/// Checks the key, then path, method and content type, in this order, so that
/// nothing about routes is told without a key.
routing route(const request_head& head, const std::vector<std::string>& keys);

/// `incoming` when it is a sane id (1 to 128 of letters, digits, and -_.:),
/// else a new one.
std::string request_id(std::string_view incoming);

}  // namespace vouch::http
