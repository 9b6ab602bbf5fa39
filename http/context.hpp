#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "http/backend.hpp"
#include "http/body_budget.hpp"
#include "runtime/config.hpp"

namespace vouch::http {

class session;

/// The sessions that are open, for draining and stopping. Safe from any
/// thread.
class session_registry {
 public:
  void add(const std::shared_ptr<session>& item);
  void remove(session* item);
  std::size_t size() const;
  std::vector<std::shared_ptr<session>> all() const;
  /// True when no session is left before `deadline`; ends early with give_up.
  bool wait_until_empty(std::chrono::steady_clock::time_point deadline);
  /// Nobody shall wait any more.
  void give_up();

 private:
  mutable std::mutex mutex_;
  std::condition_variable empty_;
  bool given_up_ = false;
  std::map<session*, std::weak_ptr<session>> items_;
};

/// Answers by status, for /metrics. Safe from any thread.
class response_counts {
 public:
  void add(int status);
  /// Prometheus text.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> by_status_;
};

/// What the listener and all sessions share.
struct server_context {
  server_context(std::unique_ptr<backend> side, const runtime::config& config)
      : settings{config},
        model_side{std::move(side)},
        bodies{config.server.max_body_bytes_in_flight} {}

  runtime::config settings;
  std::unique_ptr<backend> model_side;
  /// Shared, because a generation's last events may come after the server.
  std::shared_ptr<boost::asio::io_context> io =
      std::make_shared<boost::asio::io_context>();
  /// Runs what is too long for an I/O thread (tokenising, templates, big
  /// bodies).
  boost::asio::thread_pool workers{2};
  std::atomic<int> queued_work{0};
  std::atomic<bool> draining{false};
  session_registry sessions;
  body_budget bodies;
  response_counts responses;
};

/// Deferred work that may wait at a time; more is refused with 503.
inline constexpr int max_queued_work = 256;

}  // namespace vouch::http
