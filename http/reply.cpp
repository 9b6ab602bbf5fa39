#include "http/reply.hpp"

#include <spdlog/fmt/fmt.h>

namespace vouch::http {

namespace {

std::string head_start(int status, const std::string& request_id,
                       const framing& how) {
  auto head =
      fmt::format("HTTP/1.{} {} {}\r\nserver: vouch\r\nx-request-id: {}\r\n",
                  how.minor_version, status, reason_phrase(status), request_id);
  head += how.cors;
  if (!how.keep_alive) {
    head += "connection: close\r\n";
  } else if (how.minor_version == 0) {
    head += "connection: keep-alive\r\n";
  }
  return head;
}

void add_headers(
    std::string& head,
    const std::vector<std::pair<std::string, std::string>>& headers) {
  for (const auto& [name, value] : headers)
    head += name + ": " + value + "\r\n";
}

}  // namespace

reply error_reply(const api_error& error) {
  reply response;
  response.status = error.status();
  response.body = error.json();
  if (error.retry_after() > 0) {
    response.headers.emplace_back("retry-after",
                                  std::to_string(error.retry_after()));
  }
  if (error.status() == 401)
    response.headers.emplace_back("www-authenticate", "Bearer");
  return response;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Unknown";
  }
}

std::string framed(const reply& response, const std::string& request_id,
                   const framing& how) {
  auto bytes = head_start(response.status, request_id, how);
  add_headers(bytes, response.headers);
  if (response.status == 204) return bytes + "\r\n";
  bytes += fmt::format("content-type: {}\r\ncontent-length: {}\r\n\r\n",
                       response.content_type, response.body.size());
  if (!how.head_only) bytes += response.body;
  return bytes;
}

std::string stream_head(
    const std::vector<std::pair<std::string, std::string>>& headers,
    const std::string& request_id, const framing& how) {
  auto head = head_start(200, request_id, how);
  add_headers(head, headers);
  head +=
      "content-type: text/event-stream; charset=utf-8\r\n"
      "cache-control: no-cache\r\n";
  if (how.minor_version > 0) head += "transfer-encoding: chunked\r\n";
  return head + "\r\n";
}

std::string stream_piece(const std::string& payload, const framing& how) {
  if (payload.empty() || how.minor_version == 0) return payload;
  return fmt::format("{:x}\r\n{}\r\n", payload.size(), payload);
}

std::string_view stream_tail(const framing& how) {
  return how.minor_version == 0 ? "" : "0\r\n\r\n";
}

}  // namespace vouch::http
