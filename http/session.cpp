#include "http/session.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

#include "http/cors.hpp"
#include "http/text.hpp"

// The reading side of a session; session_answer.cpp has the answering side.

namespace vouch::http {

namespace net = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

namespace {

// A body this small is read before an early answer, so that the connection
// can go on.
constexpr std::uint64_t small_body = 64 << 10;

// Reads are as large as the buffer, which starts with this.
constexpr std::size_t first_read = 4096;
constexpr std::size_t body_read = 64 << 10;

// What a body must come in with on average, once idle_timeout has passed.
constexpr double least_bytes_per_second = 1024;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

request_head head_of(
    const beast::http::request<beast::http::string_body>& message) {
  using beast::http::field;
  request_head head;
  head.method = text(message.method_string());
  head.target = text(message.target());
  head.content_type = text(message[field::content_type]);
  head.content_encoding = text(message[field::content_encoding]);
  const auto authorization = message[field::authorization];
  constexpr beast::string_view scheme = "Bearer ";
  if (authorization.size() > scheme.size() &&
      beast::iequals(authorization.substr(0, scheme.size()), scheme)) {
    head.key = text(authorization.substr(scheme.size()));
  } else {
    head.key = text(message["x-api-key"]);
  }
  return head;
}

// What makes a head ambiguous to a proxy before this server, which might then
// take a part of the body for a request; or what RFC 9112 says to refuse.
std::string framing_problem(
    const beast::http::request<beast::http::string_body>& message) {
  using beast::http::field;
  const auto coding = message[field::transfer_encoding];
  if (message.count(field::transfer_encoding) > 0 &&
      (message.version() < 11 || !beast::iequals(coding, "chunked")))
    return "transfer-encoding: expected chunked alone, in HTTP/1.1";
  const auto hosts = message.count(field::host);
  if (hosts > 1 || (hosts == 0 && message.version() >= 11))
    return "host: expected once";
  return {};
}

}  // namespace

session::session(net::ip::tcp::socket socket, server_context& context)
    : connection{std::move(socket), context.settings.server.write_timeout},
      context_{context},
      // Bounds what the parser cannot: a chunk's extension, trailers.
      buffer_{
          static_cast<std::size_t>(context.settings.server.max_header_bytes) +
          body_read},
      look_timer_{socket_.get_executor()} {}

session::~session() { context_.sessions.remove(this); }

std::shared_ptr<session> session::self() {
  return std::static_pointer_cast<session>(shared_from_this());
}

void session::start() {
  net::post(executor(), [self = self()] { self->do_read(); });
}

void session::close_when_idle() {
  net::post(executor(), [self = self()] {
    self->now_.how.keep_alive = false;
    if (self->reading_head_ && !self->closed()) self->close();
  });
}

void session::abort() {
  net::post(executor(), [self = self()] {
    if (self->now_.begin != clock::time_point{}) {
      self->disconnect("shutdown");
    } else {
      self->close_hard();
    }
  });
}

void session::refuse() {
  net::post(executor(), [self = self()] {
    self->now_.begin = clock::now();
    self->now_.how.keep_alive = false;
    self->now_.record.request_id = request_id({});
    self->now_.record.method = "-";
    self->now_.record.route = "-";
    self->respond(
        error_reply({503, "too many connections", {}, "too_many_connections"}));
  });
}

void session::do_read() {
  if (closed()) return;
  const auto number = now_.number + 1;
  now_ = exchange{};
  now_.number = number;
  now_.share = body_share{context_.bodies};
  if (context_.draining) return close();
  const auto& server = context_.settings.server;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(server.max_header_bytes));
  parser_->body_limit(static_cast<std::uint64_t>(server.max_body_bytes));
  reading_head_ = true;
  arm(server.idle_timeout);
  if (buffer_.size() > 0) return do_read_header();
  socket_.async_read_some(buffer_.prepare(first_read),
                          [self = self()](error_code ec, std::size_t bytes) {
                            if (ec || self->closed()) return self->close();
                            self->buffer_.commit(bytes);
                            self->do_read_header();
                          });
}

// The deadline of a whole header starts with its first byte.
void session::do_read_header() {
  // Old clients send an empty line after a body (RFC 9112, 2.2).
  const std::string_view begin{static_cast<const char*>(buffer_.data().data()),
                               buffer_.size()};
  if (begin.starts_with("\r\n")) buffer_.consume(2);
  arm(context_.settings.server.idle_timeout);
  beast::http::async_read_header(
      socket_, buffer_, *parser_,
      [self = self()](error_code ec, std::size_t) { self->on_header(ec); });
}

void session::on_header(error_code ec) {
  reading_head_ = false;
  if (closed()) return;
  if (ec && !parser_->got_some() && buffer_.size() == 0) return close();
  disarm();
  begin_exchange();
  if (ec) return on_bad_request(ec);

  const auto& message = parser_->get();
  if (const auto problem = framing_problem(message); !problem.empty()) {
    now_.how.keep_alive = false;
    return respond(error_reply({400, problem, {}, "bad_request"}));
  }
  const auto expect = message[beast::http::field::expect];
  const bool continue_wanted = beast::iequals(expect, "100-continue");
  if (!expect.empty() && !continue_wanted) {
    now_.target.answer = error_reply(
        {417, "expect: only 100-continue is known", {}, "expectation_failed"});
  }
  if (parser_->is_done()) return dispatch();
  const auto length = parser_->content_length();
  if (now_.target.answer &&
      (continue_wanted || !length || *length > small_body)) {
    now_.how.keep_alive = false;
    return respond(*now_.target.answer);
  }
  // Only a look: a body counts as it comes, or clients that promise much and
  // send nothing would use up the budget.
  if (length && !context_.bodies.has(*length)) return refuse_body();
  if (!length || *length > small_body) buffer_.reserve(body_read);
  if (continue_wanted && message.version() >= 11) {
    queue("HTTP/1.1 100 Continue\r\n\r\n");  // on_drained reads the body
  } else {
    do_read_body();
  }
}

// Takes from the head what the answer needs; works on a broken head too.
void session::begin_exchange() {
  const auto& message = parser_->get();
  const auto head = head_of(message);
  now_.begin = clock::now();
  now_.how.minor_version = message.version() == 10 ? 0 : 1;
  now_.how.keep_alive = message.keep_alive() && !context_.draining;
  now_.how.head_only = head.method == "HEAD";
  const auto& server = context_.settings.server;
  const auto origin = text(message[beast::http::field::origin]);
  now_.how.cors = cors_headers(origin, server.cors_origins);
  const auto wanted =
      message[beast::http::field::access_control_request_method];
  if (head.method == "OPTIONS" && !wanted.empty() &&
      cors_allows(origin, server.cors_origins)) {
    now_.target.answer = preflight_reply(
        text(message[beast::http::field::access_control_request_headers]));
  } else {
    now_.target = route(head, server.api_keys);
  }
  now_.record.request_id = request_id(text(message["x-request-id"]));
  now_.record.method = message.method() == beast::http::verb::unknown
                           ? "-"
                           : text(message.method_string());
  now_.record.route = now_.target.name;
}

// A body may take long as long as it comes: no pause of idle_timeout, and not
// a byte now and then either.
void session::do_read_body() {
  parser_->eager(true);
  const auto idle = context_.settings.server.idle_timeout;
  const std::chrono::duration<double> so_far = clock::now() - now_.begin;
  const auto left =
      idle + static_cast<double>(now_.body_bytes) / least_bytes_per_second -
      so_far.count();
  arm(std::clamp(left, 0.0, idle));
  beast::http::async_read_some(
      socket_, buffer_, *parser_,
      [self = self()](error_code ec, std::size_t bytes) {
        self->on_body(ec, bytes);
      });
}

void session::on_body(error_code ec, std::size_t bytes) {
  if (closed()) return;
  now_.body_bytes += bytes;
  if (!ec && !now_.share.grow(bytes)) {
    disarm();
    return refuse_body();
  }
  if (!ec && !parser_->is_done()) return do_read_body();
  disarm();
  if (ec) return on_bad_request(ec);
  dispatch();
}

void session::refuse_body() {
  now_.how.keep_alive = false;
  respond(error_reply(
      {503,
       "the bodies of the running requests have reached " +
           std::to_string(context_.settings.server.max_body_bytes_in_flight) +
           " bytes together (server.max_body_bytes_in_flight)",
       {},
       "queue_full"}));
}

// A request that cannot be read to its end: an answer where the peer can
// still take one, then the connection's end.
void session::on_bad_request(error_code ec) {
  using beast::http::error;
  now_.how.keep_alive = false;
  if (timed_out()) {
    respond(error_reply(
        {408, "the request did not arrive in time", {}, "request_timeout"}));
  } else if (ec == error::header_limit || ec == error::buffer_overflow) {
    respond(error_reply(
        {431,
         "the header is larger than " +
             std::to_string(context_.settings.server.max_header_bytes) +
             " bytes",
         {},
         "header_too_large"}));
  } else if (ec == error::body_limit) {
    respond(error_reply(
        {413,
         "the body is larger than " +
             std::to_string(context_.settings.server.max_body_bytes) + " bytes",
         {},
         "body_too_large"}));
  } else if (ec.category() ==
             make_error_code(error::end_of_stream).category()) {
    respond(error_reply({400,
                         "this is not a whole HTTP request: " + ec.message(),
                         {},
                         "bad_request"}));
  } else {
    disconnect("read_failed");
  }
}

}  // namespace vouch::http
