#include "http/router.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "http/text.hpp"

namespace vouch::http {

namespace {

struct route_entry {
  std::string_view path;
  std::string_view method;
  // None: known, not built.
  std::optional<route_id> id;
};

constexpr std::array routes{
    route_entry{"/v1/chat/completions", "POST", route_id::chat},
    route_entry{"/v1/completions", "POST", route_id::completions},
    route_entry{"/v1/models", "GET", route_id::models},
    route_entry{"/v1/models/{id}", "GET", route_id::model},
    route_entry{"/tokenize", "POST", route_id::tokenize},
    route_entry{"/detokenize", "POST", route_id::detokenize},
    route_entry{"/apply-template", "POST", route_id::apply_template},
    route_entry{"/health", "GET", route_id::health},
    route_entry{"/ready", "GET", route_id::ready},
    route_entry{"/metrics", "GET", route_id::metrics},
    route_entry{"/version", "GET", route_id::version},
    route_entry{"/", "GET", {}},
    route_entry{"/config", "GET", {}},
    route_entry{"/speculation", "GET", route_id::speculation},
    route_entry{"/openapi.json", "GET", {}},
    route_entry{"/v1/responses", "POST", {}},
    route_entry{"/v1/messages", "POST", {}},
    route_entry{"/v1/embeddings", "POST", {}},
};

constexpr std::string_view model_prefix = "/v1/models/";

std::string lowercase(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return out;
}

// Percent-decoding of a path segment; what is not an escape stays.
std::string decoded(std::string_view text) {
  const auto digit = [](char c) {
    const auto at = std::string_view{"0123456789abcdef"}.find(
        static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The path of a target in origin or absolute form, without query.
std::string_view path_of(std::string_view target) {
  if (const auto scheme = target.find("://");
      !target.starts_with('/') && scheme != std::string_view::npos) {
    const auto slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  return target.substr(0, target.find_first_of("?#"));
}

const route_entry* find_route(std::string_view path, std::string& argument) {
  for (const auto& entry : routes) {
    if (entry.path == path) return &entry;
    if (entry.id == route_id::model && path.starts_with(model_prefix) &&
        path.size() > model_prefix.size()) {
      argument = decoded(path.substr(model_prefix.size()));
      return &entry;
    }
  }
  return nullptr;
}

std::string allowed(const route_entry& entry) {
  return entry.method == "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
}

int matching_key(const std::string& given,
                 const std::vector<std::string>& keys) {
  // Every key is compared, whichever matches.
  int found = -1;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (equal_constant_time(given, keys[i])) found = static_cast<int>(i);
  return found;
}

reply options_reply(std::string allow) {
  reply response;
  response.status = 204;
  response.headers.emplace_back("allow", std::move(allow));
  return response;
}

std::optional<reply> content_problem(const request_head& head) {
  if (!head.content_encoding.empty() &&
      lowercase(head.content_encoding) != "identity") {
    return error_reply({415,
                        "content-encoding: expected none, given " +
                            shortened(head.content_encoding, 40),
                        {},
                        "unsupported_media_type"});
  }
  auto type = lowercase(head.content_type);
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  if (type.empty() || type == "application/json") return {};
  return error_reply(
      {415,
       "content-type: expected application/json, given " + shortened(type, 60),
       {},
       "unsupported_media_type"});
}

}  // namespace

routing route(const request_head& head, const std::vector<std::string>& keys) {
  routing result;
  const auto path = path_of(head.target);
  const auto* entry = find_route(path, result.argument);
  if (entry) result.name = entry->path;
  const bool open =
      entry && (entry->id == route_id::health || entry->id == route_id::ready);
  result.key = matching_key(head.key, keys);
  if (!keys.empty() && !open && result.key < 0) {
    result.answer = error_reply(
        {401,
         head.key.empty()
             ? "an API key is required: Authorization: Bearer KEY, or x-api-key"
             : "the API key is not valid",
         {},
         "invalid_api_key"});
    return result;
  }
  if (!entry) {
    if (head.method == "OPTIONS" && head.target == "*") {
      result.answer = options_reply("GET, HEAD, POST, OPTIONS");
    } else {
      result.answer = error_reply(
          {404, "there is no route " + shortened(path, 100), {}, "not_found"});
    }
    return result;
  }
  if (head.method == "OPTIONS") {
    result.answer = options_reply(allowed(*entry));
    return result;
  }
  const bool matches = head.method == entry->method ||
                       (head.method == "HEAD" && entry->method == "GET");
  if (!matches) {
    result.answer = error_reply({405,
                                 std::string{entry->path} + " takes " +
                                     std::string{entry->method} + ", given " +
                                     shortened(head.method, 20),
                                 {},
                                 "method_not_allowed"});
    result.answer->headers.emplace_back("allow", allowed(*entry));
    return result;
  }
  if (!entry->id) {
    result.answer = error_reply(
        {501, std::string{entry->path} + " is not built yet", {}, "not_built"});
    return result;
  }
  if (entry->method == "POST") result.answer = content_problem(head);
  if (!result.answer) result.route = entry->id;
  return result;
}

std::string request_id(std::string_view incoming) {
  const bool sane =
      !incoming.empty() && incoming.size() <= 128 &&
      std::all_of(incoming.begin(), incoming.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':';
      });
  return sane ? std::string{incoming} : "req-" + random_hex(24);
}

}  // namespace vouch::http
