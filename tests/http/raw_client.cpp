#include "tests/http/raw_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace vouch::test {

using clock = std::chrono::steady_clock;

raw_client::raw_client(std::uint16_t port, int receive_buffer) {
  fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd_ < 0) throw std::runtime_error{"socket"};
  if (receive_buffer > 0)
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                 sizeof receive_buffer);
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address)) {
    ::close(fd_);
    throw std::runtime_error{"connect"};
  }
}

raw_client::~raw_client() { close(); }

void raw_client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void raw_client::send_slowly(std::string_view bytes) {
  for (const char c : bytes) send({&c, 1});
}

void raw_client::half_close() { ::shutdown(fd_, SHUT_WR); }

void raw_client::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void raw_client::reset() {
  const linger hard{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

bool raw_client::fill(clock::time_point until) {
  if (fd_ < 0) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - clock::now());
  pollfd ready{fd_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0))) <= 0)
    return false;
  char bytes[16384];
  const auto got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::optional<raw_response> raw_client::read(std::chrono::milliseconds wait,
                                             bool head_only) {
  const auto until = clock::now() + wait;
  raw_response response;
  std::size_t end = 0;
  while (true) {
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
      if (!fill(until)) return {};
    response.status = std::stoi(buffer_.substr(9, 3));
    if (response.status >= 200) break;
    ++response.interim;
    buffer_.erase(0, end + 4);
  }
  std::size_t line = buffer_.find("\r\n") + 2;
  while (line < end + 2) {
    const auto next = buffer_.find("\r\n", line);
    const auto colon = buffer_.find(':', line);
    auto name = buffer_.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
      return static_cast<char>(std::tolower(c));
    });
    response.headers[name] = buffer_.substr(colon + 2, next - colon - 2);
    line = next + 2;
  }
  buffer_.erase(0, end + 4);
  if (head_only || response.status == 204) return response;
  if (response.headers.contains("transfer-encoding")) {
    while (true) {
      std::size_t size_end = 0;
      while ((size_end = buffer_.find("\r\n")) == std::string::npos)
        if (!fill(until)) return {};
      const auto size = std::stoul(buffer_.substr(0, size_end), nullptr, 16);
      while (buffer_.size() < size_end + 2 + size + 2)
        if (!fill(until)) return {};
      response.body += buffer_.substr(size_end + 2, size);
      buffer_.erase(0, size_end + 2 + size + 2);
      if (size == 0) return response;
    }
  }
  if (response.headers.contains("content-length")) {
    const auto size = std::stoul(response.headers["content-length"]);
    while (buffer_.size() < size)
      if (!fill(until)) return {};
    response.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return response;
  }
  while (fill(until)) {
  }
  response.body = std::exchange(buffer_, {});
  return response;
}

std::string raw_client::read_bytes(std::size_t most) {
  if (buffer_.empty()) fill(clock::now() + std::chrono::seconds{20});
  auto bytes = buffer_.substr(0, most);
  buffer_.erase(0, bytes.size());
  return bytes;
}

std::string raw_client::read_until(std::string_view text,
                                   std::chrono::milliseconds wait) {
  const auto until = clock::now() + wait;
  while (buffer_.find(text) == std::string::npos)
    if (!fill(until)) break;
  return buffer_;
}

bool raw_client::at_end(std::chrono::milliseconds wait) {
  const auto until = clock::now() + wait;
  if (!buffer_.empty()) return false;
  pollfd ready{fd_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return false;
  return !fill(until);
}

std::string post(std::string_view target, std::string_view body,
                 std::string_view headers) {
  std::string request = "POST ";
  request += target;
  request += " HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n";
  request += headers;
  request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  request += body;
  return request;
}

std::string get(std::string_view target, std::string_view headers) {
  std::string request = "GET ";
  request += target;
  request += " HTTP/1.1\r\nHost: test\r\n";
  request += headers;
  return request + "\r\n";
}

raw_response ask(std::uint16_t port, std::string_view request) {
  raw_client client{port};
  client.send(request);
  return client.read().value_or(raw_response{});
}

std::vector<std::string> sse_data(std::string_view body) {
  std::vector<std::string> result;
  while (!body.empty()) {
    const auto end = body.find("\n\n");
    if (end == std::string_view::npos) break;
    const auto block = body.substr(0, end);
    if (const auto at = block.find("data: "); at != std::string_view::npos)
      result.emplace_back(block.substr(at + 6));
    body.remove_prefix(end + 2);
  }
  return result;
}

}  // namespace vouch::test
