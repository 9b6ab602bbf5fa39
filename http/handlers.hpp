#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "http/backend.hpp"
#include "http/router.hpp"

namespace vouch::http {

/// A generation that may start.
struct generation_start {
  generation_job job;
  std::shared_ptr<const runtime::model_info> model;
};

/// Work that is too long for an I/O thread.
using deferred_reply = std::function<reply()>;

/// What a request's route makes of it. Errors are replies.
using outcome = std::variant<reply, deferred_reply, generation_start>;

/// Answers `target` (with a route) and its body. `deferred_reply` holds
/// `model_side`, which must outlive it.
outcome handle(const routing& target, std::string body,
               const backend& model_side, const runtime::config& settings);

}  // namespace vouch::http
