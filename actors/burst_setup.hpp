#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/speculation/decline.hpp"
#include "engine/speculation/gate_view.hpp"
#include "engine/speculation/prior_table.hpp"
#include "engine/speculation/status.hpp"

namespace vouch::actors {

/// What SCHEDULER is told about drafting; fixed for its life.
struct burst_setup {
  /// Rows of the widest block; below 2: nobody is drafted for.
  int width = 1;
  /// drafter::is_free().
  bool is_free = true;
  bool fixed = false;
  engine::acceptance_prior prior;
  std::string drafter;
  /// Why there is no drafter.
  std::optional<engine::decline> declined =
      engine::decline{engine::decline_reason::no_drafter, ""};
  /// In force until GATE says something else.
  engine::gate_view first_view;
  /// For operators: what of it does not change while it serves.
  engine::speculation_status status;
  /// Takes lines of the transcript; empty: none is written.
  std::function<void(const std::string&)> transcript;
};

}  // namespace vouch::actors
