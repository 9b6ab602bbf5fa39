#include "bench/http/load.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "bench/http/event_reader.hpp"

namespace vouch::bench {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using boost::system::error_code;
constexpr std::size_t read_size = 16 << 10;
using clock_type = std::chrono::steady_clock;

namespace {

std::string body_of(const load_options& options, const prompt& input) {
  json::object body;
  if (!options.model.empty()) body["model"] = options.model;
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  body["max_tokens"] = options.max_tokens;
  body["temperature"] = options.temperature;
  body["top_p"] = options.top_p;
  if (options.seed) body["seed"] = *options.seed;
  if (options.ignore_eos) body["ignore_eos"] = true;
  auto text = json::serialize(body);
  text.pop_back();
  return text + ",\"" + input.field + "\":" + input.json + "}";
}

std::string request_of(const load_options& options, const prompt& input) {
  const auto body = body_of(options, input);
  std::string text =
      "POST " + options.base_path +
      (options.chat ? "/v1/chat/completions" : "/v1/completions") +
      " HTTP/1.1\r\nhost: " + options.host + "\r\n";
  if (!options.api_key.empty()) {
    text += "authorization: Bearer " + options.api_key + "\r\n";
  }
  return text + "content-type: application/json\r\ncontent-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// What all clients of a run share.
struct shared_run {
  const load_options& options;
  net::io_context io{1};
  net::ip::tcp::resolver::results_type where{};
  clock_type::time_point begin{};
  std::size_t running = 0;

  double now() const {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
  }
};

/// One connection and its requests, one after the other.
class client {
 public:
  client(shared_run& run, std::size_t number)
      : run_{run}, number_{number}, socket_{run.io} {}

  /// Blocks; before the run begins.
  void connect() {
    error_code failed;
    net::connect(socket_, run_.where, failed);
    if (failed) {
      throw std::runtime_error{"cannot connect to " + run_.options.host + ":" +
                               std::to_string(run_.options.port) + ": " +
                               failed.message()};
    }
    socket_.set_option(net::ip::tcp::no_delay{true}, failed);
  }

  /// Sends the next request.
  void next() {
    const auto& options = run_.options;
    const auto index =
        number_ * static_cast<std::size_t>(options.requests) + records_.size();
    out_ = request_of(options, options.prompts[index % options.prompts.size()]);
    records_.emplace_back();
    send();
  }

  client_record take() { return std::move(records_); }

  double last_read() const { return last_read_; }
  bool running() const { return running_; }
  void check_time() {
    if (running() && run_.now() - last_read_ > run_.options.timeout_s)
      fail("no byte in time");
  }

 private:
  using parser = http::response_parser<http::string_body>;

  request_record& now() { return records_.back(); }

  void send() {
    now().sent = last_read_ = run_.now();
    parser_.emplace();
    parser_->body_limit(boost::none);
    parser_->eager(true);
    events_.reset();
    net::async_write(socket_, net::buffer(out_),
                     [this](error_code failed, std::size_t) {
                       if (!running()) return;
                       if (failed) return on_cut("write: " + failed.message());
                       read();
                     });
  }

  // A kept connection may be closed at any time before an answer begins: the
  // request then goes out again over a new one (RFC 9112, 9.3.1).
  void reconnect() {
    close();
    buffer_.clear();
    reused_ = false;
    net::async_connect(
        socket_, run_.where,
        [this](error_code failed, const net::ip::tcp::endpoint&) {
          if (!running()) return;
          if (failed) return fail("connect: " + failed.message());
          socket_.set_option(net::ip::tcp::no_delay{true}, failed);
          send();
        });
  }

  void on_cut(const std::string& why) {
    if (reused_ && !parser_->got_some()) return reconnect();
    fail(why);
  }

  // Beast's own read would go on until the message is whole: here every
  // piece counts as it comes.
  void read() {
    socket_.async_read_some(buffer_.prepare(read_size),
                            [this](error_code failed, std::size_t bytes) {
                              if (running()) on_read(failed, bytes);
                            });
  }

  void on_read(error_code failed, std::size_t bytes) {
    buffer_.commit(bytes);
    const bool cut = failed == net::error::eof;
    if (failed && !cut) return on_cut("read: " + failed.message());
    if (cut && !parser_->got_some() && bytes == 0)
      return on_cut("the connection was closed without an answer");
    last_read_ = run_.now();
    buffer_.consume(parser_->put(buffer_.data(), failed));
    if (failed && failed != http::error::need_more)
      return fail("not an HTTP answer: " + failed.message());
    if (!parser_->is_header_done()) {
      if (cut) return fail("the connection was closed inside an answer's head");
      return read();
    }
    auto& message = parser_->get();
    if (message.result_int() != 200) {
      if (!parser_->is_done() && !cut) return read();
      return fail("status " + std::to_string(message.result_int()) + ": " +
                  message.body());
    }
    const auto before = events_.text_events();
    events_.push(message.body());
    message.body().clear();
    for (auto i = before; i < events_.text_events(); ++i) {
      now().arrivals.push_back(last_read_);
    }
    if (!events_.error().empty()) return fail(events_.error());
    if (parser_->is_done()) return finish(message.keep_alive());
    if (cut) return fail("the connection was closed inside an answer");
    read();
  }

  void finish(bool keep_alive) {
    auto& record = now();
    record.ended = run_.now();
    record.completion_tokens = events_.completion_tokens();
    record.prompt_tokens = events_.prompt_tokens();
    if (!events_.done()) return fail("the stream ended without [DONE]");
    const auto wanted = static_cast<std::size_t>(run_.options.requests);
    if (records_.size() == wanted) return end();
    reused_ = true;
    if (!keep_alive) close();
    next();
  }

  void fail(const std::string& why) {
    now().ended = run_.now();
    now().error = "client " + std::to_string(number_) + ", request " +
                  std::to_string(records_.size() - 1) + ": " + why;
    end();
  }

  void end() {
    running_ = false;
    close();
    if (--run_.running == 0) run_.io.stop();
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

  shared_run& run_;
  std::size_t number_;
  net::ip::tcp::socket socket_;
  bool running_ = true;
  /// The connection has carried an answer.
  bool reused_ = false;
  double last_read_ = 0;
  beast::flat_buffer buffer_;
  std::optional<parser> parser_;
  event_reader events_;
  std::string out_;
  client_record records_;
};

/// Ends clients that wait too long; looks every half second.
class watchdog {
 public:
  watchdog(shared_run& run, std::vector<std::unique_ptr<client>>& clients)
      : timer_{run.io}, clients_{clients} {}

  void watch() {
    timer_.expires_after(std::chrono::milliseconds{500});
    timer_.async_wait([this](error_code failed) {
      if (failed) return;
      for (auto& item : clients_) item->check_time();
      watch();
    });
  }

 private:
  net::steady_timer timer_;
  std::vector<std::unique_ptr<client>>& clients_;
};

}  // namespace

load_result run_load(const load_options& options) {
  shared_run run{options};
  error_code failed;
  net::ip::tcp::resolver resolver{run.io};
  run.where =
      resolver.resolve(options.host, std::to_string(options.port), failed);
  if (failed) {
    throw std::runtime_error{"cannot resolve " + options.host + ": " +
                             failed.message()};
  }
  std::vector<std::unique_ptr<client>> clients;
  for (int i = 0; i < options.clients; ++i) {
    clients.push_back(
        std::make_unique<client>(run, static_cast<std::size_t>(i)));
    clients.back()->connect();
  }
  run.running = clients.size();
  run.begin = clock_type::now();
  for (auto& item : clients) item->next();
  watchdog timeouts{run, clients};
  timeouts.watch();
  run.io.run();
  load_result result;
  for (const auto& item : clients)
    result.wall_s = std::max(result.wall_s, item->last_read());
  for (auto& item : clients) result.clients.push_back(item->take());
  return result;
}

}  // namespace vouch::bench
