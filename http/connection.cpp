#include "http/connection.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace vouch::http {

namespace net = boost::asio;
using boost::system::error_code;

namespace {

constexpr double linger_seconds = 2.0;
constexpr std::size_t linger_bytes = std::size_t{16} << 20;

}  // namespace

connection::connection(net::ip::tcp::socket socket, double write_timeout_s)
    : socket_{std::move(socket)},
      deadline_{socket_.get_executor()},
      write_timeout_s_{write_timeout_s} {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(net::ip::tcp::no_delay{true}, ignored);
  // Bounded, so that a reader that stops is noticed.
  socket_.set_option(net::socket_base::send_buffer_size{256 << 10}, ignored);
}

void connection::arm(double seconds) {
  timed_out_ = false;
  due_ = clock::now() + std::chrono::duration_cast<clock::duration>(
                            std::chrono::duration<double>{seconds});
  if (due_ < timer_end_) wait_for_deadline();
}

void connection::wait_for_deadline() {
  timer_end_ = due_;
  deadline_.expires_at(due_);
  deadline_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->closed()) return;
    self->timer_end_ = clock::time_point::max();
    if (self->due_ == clock::time_point::max()) return;
    if (clock::now() < self->due_) return self->wait_for_deadline();
    self->on_deadline();
  });
}

void connection::on_deadline() {
  due_ = clock::time_point::max();
  // A slow reader empties the socket long before there is room for more.
  if (writing_now_ && unacknowledged() < unacknowledged_) {
    unacknowledged_ = unacknowledged();
    return arm(write_timeout_s_);
  }
  timed_out_ = true;
  error_code ignored;
  socket_.cancel(ignored);
}

std::size_t connection::unacknowledged() {
  int bytes = 0;
  if (ioctl(socket_.native_handle(), SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<std::size_t>(bytes);
}

void connection::disarm() { due_ = clock::time_point::max(); }

void connection::queue(std::string bytes) {
  if (closed()) return;
  if (pending_.empty()) {
    pending_ = std::move(bytes);
  } else {
    pending_ += bytes;
  }
  if (!writing_now_) flush();
}

// Nearly always the socket takes all there is.
void connection::flush() {
  writing_now_ = true;
  in_flight_ = std::exchange(pending_, {});
  error_code ec;
  written_ = socket_.write_some(net::buffer(in_flight_), ec);
  if (ec == net::error::would_block || ec == net::error::try_again) ec = {};
  if (ec || written_ == in_flight_.size()) return on_written(ec);
  write_more();
}

// Piece by piece: each starts the deadline anew.
void connection::write_more() {
  arm(write_timeout_s_);
  socket_.async_write_some(
      net::buffer(in_flight_) + written_,
      [self = shared_from_this()](error_code ec, std::size_t bytes) {
        self->written_ += bytes;
        if (!ec && !self->closed() && self->written_ < self->in_flight_.size())
          return self->write_more();
        self->on_written(ec);
      });
  unacknowledged_ = unacknowledged();
}

void connection::on_written(error_code ec) {
  writing_now_ = false;
  if (closed()) return;
  if (ec) {
    const bool late = timed_out_;
    close_hard();
    on_write_failure(late ? "write_timeout" : "write_failed");
  } else if (!pending_.empty()) {
    flush();
  } else {
    disarm();
    on_drained();
  }
}

peer_state connection::look_at_peer() {
  if (closed()) return peer_state::gone;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info,
                 &size) != 0)
    return peer_state::gone;
  if (info.tcpi_state == TCP_CLOSE) return peer_state::gone;
  if (info.tcpi_state == TCP_CLOSE_WAIT) return peer_state::half_closed;
  return peer_state::open;
}

void connection::close_hard() {
  error_code ignored;
  socket_.set_option(net::socket_base::linger{true, 0}, ignored);
  close();
}

void connection::close() {
  disarm();
  deadline_.cancel();
  timer_end_ = clock::time_point::max();
  error_code ignored;
  socket_.close(ignored);
}

void connection::close_gently() {
  if (closed()) return;
  error_code failed;
  socket_.shutdown(net::socket_base::shutdown_send, failed);
  if (failed) return close();
  arm(linger_seconds);
  discard();
}

void connection::discard() {
  in_flight_.resize(4096);
  socket_.async_read_some(
      net::buffer(in_flight_),
      [self = shared_from_this()](error_code ec, std::size_t bytes) {
        self->discarded_ += bytes;
        if (ec || self->discarded_ > linger_bytes) return self->close();
        self->discard();
      });
}

}  // namespace vouch::http
