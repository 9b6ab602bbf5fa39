#include "engine/gate/verdict.hpp"

#include <algorithm>
#include <array>

namespace vouch::engine {
namespace {

constexpr std::array<std::string_view, 4> state_names{"not_run", "equal",
                                                      "diverges", "tripped"};
constexpr std::array<std::string_view, 3> source_names{"none", "measured",
                                                       "stored"};
constexpr std::array<std::string_view, 4> rung_names{"burst", "batched",
                                                     "alone", "unvouched"};

void keep_trip(verdict& fresh, const verdict& stored) {
  if (stored.tripped() && !fresh.tripped()) fresh = stored;
}

std::string describe(const divergence& at) {
  std::string text = at.where + " differ at position " +
                     std::to_string(at.position) + ", row " +
                     std::to_string(at.row);
  if (at.total_bytes > 0) {
    text += ", " + std::to_string(at.differing_bytes) + " of " +
            std::to_string(at.total_bytes) + " bytes";
  }
  return text;
}

}  // namespace

std::string_view name_of(verdict_state state) {
  return state_names.at(static_cast<std::size_t>(state));
}

std::optional<verdict_state> verdict_state_of(std::string_view name) {
  const auto at = std::find(state_names.begin(), state_names.end(), name);
  if (at == state_names.end()) return {};
  return static_cast<verdict_state>(at - state_names.begin());
}

std::string_view name_of(verdict_source source) {
  return source_names.at(static_cast<std::size_t>(source));
}

std::string_view name_of(rung step) {
  return rung_names.at(static_cast<std::size_t>(step));
}

bool verdict_table::any_tripped() const {
  return alone.tripped() || batch.tripped() ||
         std::any_of(widths.begin(), widths.end(),
                     [](const auto& each) { return each.second.tripped(); });
}

rung verdict_table::lowest_allowed() const {
  if (alone.wrong()) return rung::unvouched;
  if (batch.wrong()) return rung::alone;
  const bool open =
      std::any_of(widths.begin(), widths.end(),
                  [](const auto& each) { return each.second.equal(); });
  return open ? rung::burst : rung::batched;
}

verdict_table with_trips_of(verdict_table fresh, const verdict_table& stored) {
  keep_trip(fresh.alone, stored.alone);
  keep_trip(fresh.batch, stored.batch);
  for (const auto& [width, old] : stored.widths) {
    if (old.tripped()) keep_trip(fresh.widths[width], old);
  }
  return fresh;
}

std::string describe(const verdict& of) {
  const std::string first = of.first ? describe(*of.first) : std::string{};
  switch (of.state) {
    case verdict_state::equal:
      return "equal below position " + std::to_string(of.positions) + " over " +
             std::to_string(of.rows) + " rows";
    case verdict_state::diverges:
      return "diverges: " + first;
    case verdict_state::tripped:
      return first.empty() ? "tripped: " + of.reason
                           : "tripped: " + of.reason + ": " + first;
    case verdict_state::not_run:
      break;
  }
  return of.reason.empty() ? "not run" : "not run: " + of.reason;
}

}  // namespace vouch::engine
