#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace vouch::engine {

/// What the gate says of one way to serve. Only `equal` engages it.
enum class verdict_state : std::uint8_t {
  /// Not measured, or not completely; the reason says why.
  not_run,
  /// Every compared byte was equal.
  equal,
  /// The probe found a difference.
  diverges,
  /// The audit found one in what was served. Outranks everything that was
  /// stored or is measured later, until an operator clears it.
  tripped,
};
/// "not_run", "equal", "diverges", "tripped".
std::string_view name_of(verdict_state state);
std::optional<verdict_state> verdict_state_of(std::string_view name);

enum class verdict_source : std::uint8_t { none, measured, stored };
/// "none", "measured", "stored".
std::string_view name_of(verdict_source source);

/// The first difference that was found.
struct divergence {
  /// Absolute position of the row.
  std::int64_t position = -1;
  /// Of the verify block or chunk, from 0.
  std::int64_t row = -1;
  /// Of the logits row, or of the position's K and V; -1: only hashes are
  /// known.
  std::int64_t differing_bytes = -1;
  std::int64_t total_bytes = -1;
  /// "logits" or "kv", then what ran: "logits: width 4, beside a prefill".
  std::string where;

  friend bool operator==(const divergence&, const divergence&) = default;
};

struct verdict {
  verdict_state state = verdict_state::not_run;
  /// Of not_run and tripped.
  std::string reason;
  /// Of diverges and tripped.
  std::optional<divergence> first;
  /// Rows of logits, and positions of K and V, that were compared.
  std::int64_t rows = 0;
  std::int64_t kv_rows = 0;
  /// Rows at positions below this one are vouched for.
  std::int64_t positions = 0;
  /// When it came to this state, in milliseconds since 1970; 0: never.
  std::int64_t when_ms = 0;
  verdict_source source = verdict_source::none;
  /// Folder of a trip's evidence.
  std::string evidence;

  bool equal() const { return state == verdict_state::equal; }
  bool tripped() const { return state == verdict_state::tripped; }
  /// Measured as different, whenever.
  bool wrong() const { return state == verdict_state::diverges || tripped(); }
  friend bool operator==(const verdict&, const verdict&) = default;
};

/// The ways to serve, the fastest first. Each is a rung of the gate's ladder:
/// where one is not vouched for, the next one serves.
enum class rung : std::uint8_t {
  /// Verify blocks of the vouched widths.
  burst,
  /// One row a sequence, many sequences a step.
  batched,
  /// One sequence a step.
  alone,
  /// As before, and every response says that it is not vouched for.
  unvouched,
};
/// "burst", "batched", "alone", "unvouched".
std::string_view name_of(rung step);

/// All verdicts of one scope.
struct verdict_table {
  /// One sequence a step: prefill cut or whole, cached or computed, resumed,
  /// against one row after the other.
  verdict alone;
  /// Classic rows of many sequences in a step.
  verdict batch;
  /// Verify blocks, by width.
  std::map<int, verdict> widths;

  bool any_tripped() const;
  /// The fastest rung with nothing measured against it. A verdict that was not
  /// run yet does not send `batched` and `alone` down, it only is no `equal`.
  rung lowest_allowed() const;
  friend bool operator==(const verdict_table&, const verdict_table&) = default;
};

/// `fresh` with the trips of `stored` that it lacks.
verdict_table with_trips_of(verdict_table fresh, const verdict_table& stored);

/// JSON: state, reason, first {position, row, differing_bytes, total_bytes,
/// where}, rows, kv_rows, positions, when_ms, source, evidence.
std::string json_of(const verdict& of);
/// JSON: alone, batch, widths {"2": ...}.
std::string json_of(const verdict_table& of);
/// The reverse. Strict: a field that is missing, unknown or out of its range
/// throws input_error naming `file` and the field. Every verdict's source
/// becomes `stored`.
verdict_table parse_verdict_table(const std::string& file,
                                  std::string_view text);

/// "equal below position 1024 over 5312 rows", for people.
std::string describe(const verdict& of);

}  // namespace vouch::engine
