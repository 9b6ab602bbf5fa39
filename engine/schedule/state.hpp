#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/cache/block_pool.hpp"
#include "engine/cache/prefix_cache.hpp"
#include "engine/schedule/fair_share.hpp"
#include "engine/schedule/scheduler.hpp"
#include "engine/schedule/sequence.hpp"

namespace vouch::engine {

/// The scheduler's state and its parts. One source file a part: queue.cpp (who
/// is next), admission.cpp (slot, blocks, prefix), planning.cpp (a step's
/// rows), bursts.cpp (verify rows), preemption.cpp (room for those that grow),
/// memory.cpp (giving back, prefix cache), loans.cpp (what the gate borrows and
/// holds), update.cpp (results), planted.cpp (faults), invariants.cpp (checks).
struct scheduler::impl {
  /// What a step in flight will bring, item by item.
  struct expected_item {
    sequence_id id = 0;
    std::uint32_t epoch = 0;
    slot_id slot = -1;
    row_kind kind = row_kind::prefill;
    std::int64_t rows = 0;
    std::int64_t end = 0;
    /// The last rows of the item.
    std::int64_t picks = 0;
    std::int64_t scores = 0;
    std::vector<token_id> drafts;
    /// Drawn for audit.
    bool audited = false;
  };
  struct flight {
    step_id id = 0;
    std::vector<expected_item> items;
    /// Kept where an item was drawn for audit.
    std::shared_ptr<const step> work;
  };
  /// Blocks and a slot that a step in flight still uses.
  struct grave {
    step_id after = 0;
    std::vector<block_id> blocks;
    slot_id slot = -1;
  };
  /// A step while it is planned.
  struct plan_draft {
    step work;
    flight expected;
    std::int64_t rows = 0;
    std::int64_t decode_rows = 0;
    std::int64_t verify_rows = 0;
  };
  enum class admittance : std::uint8_t { admitted, no_room, too_long };

  impl(policy rules, executor_limits limits, int steps_in_flight,
       token_bytes_function token_bytes);

  // queue.cpp
  bool eligible(const sequence& s) const;
  bool aged(const sequence& s) const;
  bool is_long(std::int64_t rows) const;
  /// Who is admitted next, leaving out `skip`; with `short_only` nobody whose
  /// prompt is long. Nobody: nullptr.
  sequence* next_candidate(const std::vector<const sequence*>& skip,
                           bool short_only) const;
  std::int64_t cost(const sequence& s) const;
  void charge_admission(const sequence& s);
  /// Counts a new sequence into the queue's limits, or (-1) out of them.
  void count_queued(const sequence& s, int by);

  // admission.cpp
  /// Gives slot and blocks, or changes nothing. A prompt with more than
  /// long_prompt_tokens rows to compute is too_long unless `allow_long`.
  admittance try_admit(sequence& s, bool allow_long);
  struct prefix {
    std::vector<block_id> shared;
    block_id copy_from = -1;
    /// Rows that need not be computed.
    std::int64_t rows = 0;
    bool from_cache = false;
  };
  prefix find_prefix(const sequence& s) const;
  bool has_room(const sequence& s, const prefix& p) const;
  void start(sequence& s, const prefix& p);
  std::int64_t rows_at_most(const sequence& s) const;

  // planning.cpp
  std::optional<planned_step> plan();
  void plan_decode(plan_draft& d);
  void plan_prefill(plan_draft& d);
  void plan_alone(plan_draft& d);
  bool may_look_ahead(const sequence& s, step_id id) const;
  void add_decode(plan_draft& d, sequence& s);
  void add_prefill(plan_draft& d, sequence& s, std::int64_t rows);
  std::int64_t row_budget() const;

  // bursts.cpp
  /// The widest block the sequence may have now; 1: a classic row, 0: none.
  int widest_block(const sequence& s, std::int64_t most) const;
  /// The block's input: the anchor, and of the offered drafts what is legal and
  /// has room; `rows`: those that the step may still hold, the anchor's
  /// included.
  std::vector<token_id> block_input(sequence& s, std::int64_t rows);
  void add_verify(plan_draft& d, sequence& s, std::vector<token_id> input);
  /// Blocks that only rejected rows needed.
  void trim_blocks(sequence& s);

  // loans.cpp
  void draw_audits(plan_draft& d);
  void record_audit(const sequence& s, const expected_item& expected,
                    const step_item_result& item, std::int64_t kept,
                    const std::shared_ptr<const step>& work);
  /// Gives up what audits hold; false where there is nothing.
  bool drop_holds();

  // preemption.cpp
  /// Makes sure that `s` can take one more block, preempting others or itself.
  bool make_room(sequence& s);
  bool can_take(const sequence& s) const;
  sequence* victim();
  void preempt(sequence& s, bool keep_in_cache = true);

  // memory.cpp
  /// Blocks that may be taken without touching a reservation.
  std::int64_t available() const;
  block_id take_block();
  /// Puts a sequence's completed full blocks into the prefix cache.
  void register_blocks(sequence& s);
  /// Takes everything a sequence holds; what a step in flight uses is kept
  /// until that step has completed.
  void give_back(sequence& s, bool keep_in_cache);
  void bury(const grave& g);
  void release_graves();
  void clear_cache();
  /// Removes the sequence altogether.
  void erase(sequence& s, bool keep_in_cache);

  // update.cpp
  std::vector<sequence_update> update(const step_result& result);
  /// The rows that count: all, or those of a verify item that were kept.
  std::int64_t take_item(sequence& s, const expected_item& expected,
                         const step_item_result& item, sequence_update& u);
  round_outcome settle(sequence& s, const expected_item& expected,
                       const step_item_result& item, sequence_update& u);

  // planted.cpp; only where `faults` are
  /// The fault that hits while step `during` is planned or settled.
  const fault_spec* planted(fault_site site, step_id during,
                            std::int64_t position,
                            std::int64_t item_row = 0) const;
  void spoil_prefix(const sequence& s, prefix& p);
  void spoil_resumption(sequence& s) const;
  std::int64_t leave_out(sequence& s, std::int64_t rows);
  std::vector<token_id> noticed_stops(const sequence& s,
                                      const round_report& report) const;

  // invariants.cpp
  std::string check_blocks() const;
  std::string check_slots() const;
  std::string check_sequence(const sequence& s) const;
  std::string check_sharing() const;

  policy rules;
  executor_limits limits;
  std::size_t max_in_flight = 1;
  token_bytes_function token_bytes;

  block_pool pool;
  prefix_cache cache;
  std::set<slot_id> free_slots;

  std::map<sequence_id, std::unique_ptr<sequence>> all;
  /// By arrival.
  std::vector<sequence*> waiting;
  /// By admission.
  std::vector<sequence*> running;
  std::deque<flight> flights;
  std::vector<grave> graves;
  fair_share shares;

  burst_rules bursts;
  /// nullptr: none.
  std::shared_ptr<const fault_plan> faults;
  /// The last step before they were set.
  step_id faults_since = 0;
  audit_draw draw;
  std::map<std::uint64_t, std::vector<block_id>> holds;
  std::uint64_t last_hold = 0;
  std::vector<std::uint64_t> dropped_holds;
  std::vector<audit_record> audited;
  std::set<block_id> lent_blocks;
  std::set<slot_id> lent_slots;
  bool wants_loans = false;

  std::vector<slot_id> released;
  std::vector<slot_start> opened;
  std::vector<planned_step::history> histories;

  std::uint64_t arrivals = 0;
  /// The caller's clock at the latest plan.
  std::int64_t now_ms = 0;
  step_id last_planned = 0;
  step_id completed = 0;
  /// Steps since one carried prefill rows.
  std::int64_t steps_without_prefill = 0;
  bool last_prefill_was_long = false;
  /// Requests (siblings count as one) that were never admitted, and their
  /// prompts.
  std::int64_t queued = 0;
  std::int64_t queued_tokens = 0;
  scheduler_stats counters;
};

}  // namespace vouch::engine
