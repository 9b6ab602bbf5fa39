#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/gate/replay.hpp"
#include "engine/gate/snapshot.hpp"
#include "engine/gate/unit.hpp"
#include "engine/gate/verdict.hpp"
#include "engine/schedule/burst.hpp"

namespace vouch::engine {

struct audit_options {
  /// Of the time of all steps that its replays may take. 0: no audit.
  double share = 0.01;
  /// Of the drawn items, those that are computed from token 0, the prefix's K
  /// and V compared too. Of items behind a cached prefix it is half of them.
  double cold_share = 0.125;
  /// Of a prefill chunk, the last rows that are compared one by one.
  std::int64_t prefill_rows = 16;
  /// Drawn items that may wait.
  std::size_t queue = 16;
  /// Longer prefixes are not computed from token 0.
  std::int64_t longest_cold = 4096;
  /// Rows of a step where a prefix is computed.
  std::int64_t chunk = 128;
  std::uint64_t seed = 1;
};

/// An item that was replayed.
struct audit_finding {
  audit_record record;
  audit_kind kind = audit_kind::classic;
  bool cold = false;
  /// Rows and K and V that were compared.
  std::int64_t rows = 0;
  std::int64_t kv_rows = 0;
  /// The first difference; nothing: all bytes were equal.
  std::optional<divergence> first;
  /// As replayed, for evidence.
  std::vector<replayed_row> classic;
  /// K and V as served, of positions kv_begin ...
  std::int64_t kv_begin = 0;
  std::vector<std::uint64_t> kv;
  double seconds = 0.0;
};

audit_kind kind_of(const audit_candidate& item);
audit_kind kind_of(const audit_record& item);

/// Draws a share of what is served, before it runs, and computes it again,
/// classically and alone. Equal calls draw equally; when what is drawn cannot
/// be foreseen without the seed.
///
/// A share of step *time*: credit grows with the time of served steps and is
/// spent by replays. Every kind of item gets its part.
class audit {
 public:
  explicit audit(audit_options options);

  /// An item is planned. True: it is drawn.
  bool draw(const audit_candidate& item);
  /// A served step took so long.
  void served(double seconds);
  /// Where another audit replays what this one draws: one of the drawn items is
  /// done with, replayed for so long or (0) dropped.
  void replayed(double seconds);
  /// A drawn item has run. Where too many wait it is dropped.
  void add(audit_record record);
  /// The memory of a hold is gone.
  void lost(std::uint64_t hold);
  /// Holds that nothing needs any more, since the last call.
  std::vector<std::uint64_t> take_released();

  /// What to borrow for the item that is next.
  std::optional<gate_need> need() const;
  void lend(loan lent);
  std::optional<loan> give_back();
  /// Gives its memory up; the item is dropped.
  void withdraw();

  /// There is an item to replay.
  bool waits() const { return running_.has_value() || !queue_.empty(); }
  /// Its share is not used up: a unit may run although requests wait.
  bool owed() const;
  std::optional<gate_unit> next();
  void take(const gate_unit_result& result);
  /// An item that was just finished.
  std::optional<audit_finding> take_finding();

  const audit_counts& counts() const;

 private:
  struct job {
    audit_record record;
    bool cold = false;
    bool lost = false;
  };
  enum class phase : std::uint8_t { originals, replaying, dropping };

  double random();
  /// Rows that a replay compares one by one.
  std::int64_t kept_rows(row_kind kind, std::int64_t rows) const;
  double cost_of(std::int64_t rows) const;
  replay_request request_of(const job& of) const;
  void begin();
  void finish();
  void abandon();
  void drop(std::uint64_t hold);
  double promised() const;
  void compare(audit_finding& into) const;

  audit_options options_;
  std::uint64_t draws_ = 0;
  /// Seconds that replays may still take.
  double credit_ = 0.0;
  /// What is drawn and has not run yet, as estimated.
  std::deque<double> drawn_;
  double served_ = 0.0;
  /// Of one row, as measured; a guess at first.
  double row_seconds_ = 0.002;
  /// Time spent by kind, and when a kind was seen last, in draws.
  std::array<double, audit_kinds> spent_{};
  std::array<std::uint64_t, audit_kinds> seen_{};

  std::deque<job> queue_;
  std::optional<job> running_;
  phase phase_ = phase::originals;
  std::optional<replay> replay_;
  loan_map map_;
  bool holding_ = false;
  bool out_ = false;
  /// The item is given up once the unit that is out is back.
  bool abandoned_ = false;
  std::optional<loan> spare_;
  std::vector<std::uint64_t> released_;
  std::optional<audit_finding> finding_;
  /// K and V as served.
  std::int64_t kv_begin_ = 0;
  std::vector<std::uint64_t> kv_;
  double job_seconds_ = 0.0;
  mutable audit_counts counts_;
};

}  // namespace vouch::engine
