#pragma once

#include <optional>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/access_log.hpp"
#include "http/connection.hpp"
#include "http/context.hpp"
#include "http/handlers.hpp"

namespace vouch::http {

/// One connection: reads a request, answers it, reads the next. Requests that
/// a client pipelines wait in the socket. While an answer is generated the
/// session watches the peer: a reset cancels; a half-close alone does not.
class session : public connection {
 public:
  session(boost::asio::ip::tcp::socket socket, server_context& context);
  ~session() override;

  /// Starts reading.
  void start();
  /// Answers 503 and closes: too many connections.
  void refuse();
  /// Draining: closes now when idle, else after the answer. From any thread.
  void close_when_idle();
  /// Closes now, which cancels. From any thread.
  void abort();

 private:
  using parser =
      boost::beast::http::request_parser<boost::beast::http::string_body>;

  // One request and its answer.
  struct exchange {
    std::uint64_t number = 0;
    framing how;
    routing target;
    access_record record;
    clock::time_point begin;
    std::size_t body_bytes = 0;
    /// Of the server's budget for bodies, until the answer's end.
    body_share share;
    /// Bytes of events too large to count as a slow reader's debt.
    std::size_t large_events = 0;
    std::optional<answer> generated;
    std::unique_ptr<generation> running;
    bool streaming = false;
    bool head_queued = false;
    /// A write of what the stream has so far is on its way.
    bool write_due = false;
    bool answered = false;
    bool probed = false;
    int looks = 0;
  };

  std::shared_ptr<session> self();
  void do_read();
  void do_read_header();
  void on_header(boost::system::error_code ec);
  void begin_exchange();
  void do_read_body();
  void on_body(boost::system::error_code ec, std::size_t bytes);
  void refuse_body();
  void on_bad_request(boost::system::error_code ec);

  void dispatch();
  void take(outcome result);
  void run_later(std::function<outcome()> work);
  void start_generation(generation_start start);
  void on_event(std::uint64_t number, generation_event event);
  void write_later();
  void write_stream();
  void respond(const reply& response);
  void finish();

  void watch();
  void on_readable();
  void look();

  void on_drained() override;
  void on_write_failure(const char* why) override;
  void disconnect(const char* why);
  void log();

  server_context& context_;
  boost::beast::flat_buffer buffer_;
  std::optional<parser> parser_;
  exchange now_;
  bool reading_head_ = false;
  bool watching_ = false;
  boost::asio::steady_timer look_timer_;
};

}  // namespace vouch::http
