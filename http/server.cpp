#include "http/server.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "engine/error.hpp"
#include "http/session.hpp"

namespace vouch::http {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// ---- sessions ----

void session_registry::add(const std::shared_ptr<session>& item) {
  const std::lock_guard lock{mutex_};
  items_.emplace(item.get(), item);
}

void session_registry::remove(session* item) {
  const std::lock_guard lock{mutex_};
  items_.erase(item);
  if (items_.empty()) empty_.notify_all();
}

std::size_t session_registry::size() const {
  const std::lock_guard lock{mutex_};
  return items_.size();
}

std::vector<std::shared_ptr<session>> session_registry::all() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::shared_ptr<session>> result;
  for (const auto& [key, weak] : items_)
    if (auto item = weak.lock()) result.push_back(std::move(item));
  return result;
}

bool session_registry::wait_until_empty(
    std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock{mutex_};
  empty_.wait_until(lock, deadline,
                    [this] { return items_.empty() || given_up_; });
  return items_.empty();
}

void session_registry::give_up() {
  const std::lock_guard lock{mutex_};
  given_up_ = true;
  empty_.notify_all();
}

// ---- counts ----

void response_counts::add(int status) {
  const std::lock_guard lock{mutex_};
  ++by_status_[status];
}

std::string response_counts::text() const {
  std::string lines =
      "# HELP vouch_http_responses_total Answers by status; 499: cut\n"
      "# TYPE vouch_http_responses_total counter\n";
  const std::lock_guard lock{mutex_};
  for (const auto& [status, count] : by_status_) {
    lines += "vouch_http_responses_total{code=\"" + std::to_string(status) +
             "\"} " + std::to_string(count) + "\n";
  }
  return lines;
}

// ---- the listener and the threads ----

struct server::impl {
  impl(std::unique_ptr<backend> side, const runtime::config& settings)
      : context{std::move(side), settings},
        acceptor{net::make_strand(*context.io)},
        pause{acceptor.get_executor()},
        guard{context.io->get_executor()} {}

  void listen();
  void accept();
  void on_accept(error_code ec, tcp::socket socket);
  void close_acceptor();

  server_context context;
  tcp::acceptor acceptor;
  net::steady_timer pause;
  net::executor_work_guard<net::io_context::executor_type> guard;
  std::vector<std::thread> threads;
  std::atomic<bool> stopped{false};
};

void server::impl::listen() {
  const auto& server = context.settings.server;
  const auto where = server.host + ":" + std::to_string(server.port);
  const auto require = [&](error_code ec) {
    if (ec) {
      throw engine::input_error{
          "server.port",
          "cannot listen on " + where + ": " + ec.message() +
              " (--host and --port choose another address; port 0: any)"};
    }
  };
  if (server.port < 0 || server.port > 65535)
    throw engine::input_error{"server.port", "expected 0 to 65535"};
  error_code ec;
  tcp::resolver resolver{*context.io};
  const auto found = resolver.resolve(
      server.host, std::to_string(server.port),
      tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  require(ec);
  // A name may have several addresses; clients that try one only try IPv4.
  const auto ipv4 = std::find_if(found.begin(), found.end(), [](const auto& e) {
    return e.endpoint().address().is_v4();
  });
  const tcp::endpoint endpoint =
      (ipv4 == found.end() ? found.begin() : ipv4)->endpoint();
  acceptor.open(endpoint.protocol(), ec);
  require(ec);
  acceptor.set_option(net::socket_base::reuse_address{true}, ec);
  require(ec);
  acceptor.bind(endpoint, ec);
  require(ec);
  acceptor.listen(net::socket_base::max_listen_connections, ec);
  require(ec);
}

void server::impl::accept() {
  acceptor.async_accept(net::make_strand(*context.io),
                        [this](error_code ec, tcp::socket socket) {
                          on_accept(ec, std::move(socket));
                        });
}

void server::impl::on_accept(error_code ec, tcp::socket socket) {
  if (!acceptor.is_open() || ec == net::error::operation_aborted) return;
  if (ec) {
    // Out of descriptors, most likely: try again a little later.
    pause.expires_after(std::chrono::milliseconds{50});
    pause.async_wait([this](error_code failed) {
      if (!failed && acceptor.is_open()) accept();
    });
    return;
  }
  const auto limit =
      static_cast<std::size_t>(context.settings.server.max_connections);
  const auto open = context.sessions.size();
  // A few more get an answer; beyond them a closed socket must do.
  constexpr std::size_t refused_at_once = 64;
  if (open < limit + refused_at_once) {
    const auto item = std::make_shared<session>(std::move(socket), context);
    context.sessions.add(item);
    if (open < limit) {
      item->start();
    } else {
      item->refuse();
    }
  }
  accept();
}

void server::impl::close_acceptor() {
  net::post(acceptor.get_executor(), [this] {
    error_code ignored;
    acceptor.close(ignored);
    pause.cancel();
  });
}

server::server(std::unique_ptr<backend> model_side,
               const runtime::config& settings)
    : impl_{std::make_unique<impl>(std::move(model_side), settings)} {}

server::~server() { stop(); }

std::uint16_t server::start() {
  impl_->listen();
  const auto port = impl_->acceptor.local_endpoint().port();
  net::post(impl_->acceptor.get_executor(), [this] { impl_->accept(); });
  const int count = std::max(1, impl_->context.settings.server.threads);
  for (int i = 0; i < count; ++i)
    impl_->threads.emplace_back([io = impl_->context.io] {
      pthread_setname_np(pthread_self(), "vouch.http");
      io->run();
    });
  return port;
}

bool server::drain(std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  impl_->context.draining = true;
  impl_->close_acceptor();
  for (const auto& item : impl_->context.sessions.all())
    item->close_when_idle();
  return impl_->context.sessions.wait_until_empty(until);
}

void server::cut_drain() { impl_->context.sessions.give_up(); }

void server::stop() {
  if (impl_->stopped.exchange(true)) return;
  impl_->context.draining = true;
  impl_->close_acceptor();
  for (const auto& item : impl_->context.sessions.all()) item->abort();
  // Workers first: what they hand back still finds its strand.
  impl_->context.workers.join();
  impl_->guard.reset();
  for (auto& thread : impl_->threads) thread.join();
}

std::size_t server::connections() const {
  return impl_->context.sessions.size();
}

}  // namespace vouch::http
