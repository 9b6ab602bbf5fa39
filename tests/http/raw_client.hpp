#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::test {

/// A response as it came over the wire, de-chunked.
struct raw_response {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
  /// Interim (1xx) responses before it.
  int interim = 0;
};

/// A TCP client that sends and reads bytes as the test says: split writes,
/// pipelines, half-closes, resets.
class raw_client {
 public:
  explicit raw_client(std::uint16_t port, int receive_buffer = 0);
  ~raw_client();
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  void send(std::string_view bytes);
  /// One byte at a time.
  void send_slowly(std::string_view bytes);
  void half_close();
  void close();
  /// RST.
  void reset();

  /// The next response; nothing at the connection's end or after `wait`.
  std::optional<raw_response> read(
      std::chrono::milliseconds wait = std::chrono::seconds{60},
      bool head_only = false);
  /// At most `most` bytes as they come; empty at the end, or after 20 s.
  std::string read_bytes(std::size_t most);
  /// Bytes until `text` has been seen, or the end.
  std::string read_until(std::string_view text,
                         std::chrono::milliseconds wait = std::chrono::seconds{
                             20});
  /// The peer closed, and nothing is left to read.
  bool at_end(std::chrono::milliseconds wait = std::chrono::seconds{60});

 private:
  bool fill(std::chrono::steady_clock::time_point until);

  int fd_ = -1;
  std::string buffer_;
};

/// "POST target" with a JSON body and Content-Length.
std::string post(std::string_view target, std::string_view body,
                 std::string_view headers = {});
std::string get(std::string_view target, std::string_view headers = {});

/// One exchange on a connection of its own.
raw_response ask(std::uint16_t port, std::string_view request);

/// The data of every event of a stream, [DONE] included.
std::vector<std::string> sse_data(std::string_view body);

/// Waits until `condition` holds; false after `wait`.
template <class Condition>
bool eventually(Condition&& condition,
                std::chrono::milliseconds wait = std::chrono::seconds{60});

}  // namespace vouch::test

#include <thread>

namespace vouch::test {

template <class Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return true;
}

}  // namespace vouch::test
