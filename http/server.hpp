#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "http/backend.hpp"
#include "runtime/config.hpp"
#include "runtime/runtime.hpp"

namespace vouch::http {

/// The OpenAI-compatible server: a listener, its connections and the threads
/// that run them. It holds no model; it asks a runtime (or a test's backend).
class server {
 public:
  /// `system` and `model` must outlive the server.
  server(caf::actor_system& system, runtime::runtime& model,
         const runtime::config& settings);
  /// Over any backend.
  server(std::unique_ptr<backend> model_side, const runtime::config& settings);
  /// Stops.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Binds settings.server.host and port (0: a free one), and serves in
  /// threads of its own. Returns the port. Throws engine::input_error when the
  /// address cannot be used.
  std::uint16_t start();

  /// Takes no more connections and no more requests on open ones; running
  /// answers go on until `deadline`. True when all ended by themselves. For
  /// SIGTERM: runtime::drain first (requests are refused with 503 while the
  /// running ones end), then this, then stop.
  bool drain(std::chrono::milliseconds deadline);

  /// Ends a drain that waits, and any later one at once. From any thread.
  void cut_drain();

  /// Closes every connection, which cancels its request, and joins the
  /// threads. Does nothing the second time.
  void stop();

  /// Connections that are open now.
  std::size_t connections() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::http
