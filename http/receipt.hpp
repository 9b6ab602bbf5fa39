#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "engine/speculation/report.hpp"

namespace vouch::http {

/// What an answer says stands behind its bytes: the header `x-vouch-receipt`.
struct receipt {
  /// The verdict in force, as in engine::speculation_report.
  std::string verdict = "not_run";
  bool vouched = false;
  /// An escape was in force.
  bool inexact = false;
  /// What the verdict is about; empty: nothing was measured.
  std::string scope;
  /// A share of what runs is audited.
  bool audit = false;
  /// Rows of this answer that were drawn for it; nothing where the header goes
  /// out before they are computed.
  std::optional<std::int64_t> audited;
};

/// "verdict=equal; vouched=yes; scope=1f0c...; audit=on; audited=12".
std::string header_value(const receipt& of);

/// The reports of an answer's choices, by index.
using choice_reports =
    std::vector<std::pair<std::size_t, const engine::speculation_report*>>;

/// The reports as one: sums, and of what differs the least that was vouched.
engine::speculation_report merged(const choice_reports& reports);

/// `at_start`, as it turned out for these choices.
receipt settled(const receipt& at_start, const choice_reports& reports);

/// The member `speculation` of an answer: what holds for all of it, and with
/// several choices each of them. Where no choice reported, what stood behind
/// the answer at its start.
boost::json::object report_object(const receipt& at_start,
                                  const choice_reports& reports);

}  // namespace vouch::http
