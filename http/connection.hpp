#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace vouch::http {

/// What a look at the peer shows (Linux: the socket's TCP state).
enum class peer_state : std::uint8_t {
  open,
  /// The peer has sent its last byte; it may still read.
  half_closed,
  /// Reset or gone.
  gone,
};

/// A socket with one deadline and one pending write buffer: what is queued
/// while a write is in flight goes out in the next one. Everything runs on the
/// socket's strand.
class connection : public std::enable_shared_from_this<connection> {
 public:
  using clock = std::chrono::steady_clock;

  connection(boost::asio::ip::tcp::socket socket, double write_timeout_s);
  virtual ~connection() = default;

  boost::asio::any_io_executor executor() { return socket_.get_executor(); }

 protected:
  /// Everything queued was written. May be called inside queue().
  virtual void on_drained() = 0;
  /// A write failed, or the peer took nothing for the write timeout
  /// ("write_failed", "write_timeout"); the socket is closed.
  virtual void on_write_failure(const char* why) = 0;

  /// Writes at once what the socket takes; the rest waits. The session may be
  /// closed afterwards.
  void queue(std::string bytes);
  /// Bytes that no write has taken yet.
  std::size_t pending_bytes() const { return pending_.size(); }
  bool writing() const { return writing_now_; }

  /// Cancels what the socket does when `seconds` pass; timed_out() tells.
  void arm(double seconds);
  void disarm();
  bool timed_out() const { return timed_out_; }

  peer_state look_at_peer();
  /// The peer is told at once (RST); for a peer that does not read.
  void close_hard();
  void close();
  bool closed() const { return !socket_.is_open(); }
  /// Sends FIN, then reads and drops what still comes, for a short while: a
  /// close with unread bytes would reset the answer away.
  void close_gently();

  boost::asio::ip::tcp::socket socket_;

 private:
  void flush();
  void write_more();
  void on_written(boost::system::error_code ec);
  void wait_for_deadline();
  void on_deadline();
  std::size_t unacknowledged();
  void discard();

  boost::asio::steady_timer deadline_;
  // The timer is set when none runs or when it would end too late, and looks at
  // due_ when it ends: arming and disarming is then an assignment.
  clock::time_point due_ = clock::time_point::max();
  clock::time_point timer_end_ = clock::time_point::max();
  bool timed_out_ = false;
  double write_timeout_s_;
  std::string pending_;
  std::string in_flight_;
  std::size_t written_ = 0;
  // Bytes of the socket that the peer had not taken at the last look.
  std::size_t unacknowledged_ = 0;
  bool writing_now_ = false;
  std::size_t discarded_ = 0;
};

}  // namespace vouch::http
