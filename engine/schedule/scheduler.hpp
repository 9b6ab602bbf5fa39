#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/executor/step.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/schedule/burst.hpp"
#include "engine/schedule/policy.hpp"
#include "engine/speculation/report.hpp"
#include "engine/speculation/step_load.hpp"
#include "engine/text/stop_matcher.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

enum class finish_reason : std::uint8_t { stop, length, aborted, failed };

/// A sequence as it is handed to the scheduler.
struct sequence_start {
  sequence_id id = 0;
  std::vector<token_id> prompt;
  sampling_params sampling;
  /// Tokens it may generate; cut to what the context leaves.
  std::int64_t max_tokens = 0;
  std::vector<std::string> stop_strings;
  /// Log-probabilities of the prompt are wanted: the prompt is computed, not
  /// read from the prefix cache.
  bool prompt_logprobs = false;
  /// Smaller or larger first, by policy.
  std::int32_t priority = 0;
  /// Whom `fair` shares between (key or user); empty: one common tenant.
  std::string tenant;
  /// Another choice of the same prompt, added before this one: this one waits
  /// until that one's prompt stands and shares its blocks. 0: none.
  sequence_id sibling_of = 0;
  /// May have verify rows; reports its rounds.
  bool speculate = true;
};

/// Why a sequence was not taken; the sequence leaves no trace.
enum class rejection : std::uint8_t {
  none,
  queue_full,
  queued_tokens_full,
  prompt_too_long,
  prompt_larger_than_pool,
  empty_prompt,
};

/// What a step's result meant for one sequence.
struct sequence_update {
  sequence_id id = 0;
  /// Tokens emitted, in order. A stop token is not among them.
  std::vector<picked_token> tokens;
  /// The decode or verify item behind them, of a sequence that speculates.
  std::vector<round_report> rounds;
  /// Given once, with the first update after the prompt was computed.
  std::vector<picked_token> prompt_logprobs;
  bool finished = false;
  finish_reason reason = finish_reason::stop;
  /// The stop token that ended it, or -1.
  token_id stop_token = -1;
  /// Index of the stop string that ended it, or -1.
  std::int32_t stop_string = -1;
  std::string error;
  /// queue_timeout or request_timeout ended it; `error` says which.
  bool timed_out = false;
  /// Prompt tokens read from the prefix cache (first admission).
  std::int64_t cached_tokens = 0;
  /// With the first update of a sequence: the `now_ms` of the plan that first
  /// gave it a slot. Otherwise -1.
  std::int64_t admitted_ms = -1;
  /// What speculation has done for the sequence so far: with its last update,
  /// and with any in which that changed. The last one said counts.
  std::optional<speculation_report> speculation;
};

/// Counters and gauges, for metrics and tests. Counters only grow.
struct scheduler_stats {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  /// What the queue limits bound: requests that were never admitted (all
  /// choices of a prompt are one), and the tokens of their prompts.
  std::int64_t queued_requests = 0;
  std::int64_t waiting_prompt_tokens = 0;
  std::int64_t free_blocks = 0;
  std::int64_t total_blocks = 0;
  /// Blocks held only by the prefix cache; they count as free for admission.
  std::int64_t cached_blocks = 0;
  /// Tenants that order `fair` keeps an account of.
  std::int64_t tenants = 0;
  std::uint64_t steps = 0;
  std::uint64_t preemptions = 0;
  /// Prompt tokens looked up in the prefix cache, and found there; like
  /// prompt_tokens once a request, not once a choice.
  std::uint64_t prefix_queries = 0;
  std::uint64_t prefix_hits = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
  std::uint64_t prefill_rows = 0;
  std::uint64_t decode_rows = 0;
  /// Steps with at least one decode or verify row.
  std::uint64_t decode_steps = 0;
  /// Rows of verify items, anchors included, and how many items there were.
  std::uint64_t verify_rows = 0;
  std::uint64_t rounds = 0;
  /// Drafts that were verified, and those of them that were emitted.
  std::uint64_t drafted_tokens = 0;
  std::uint64_t accepted_tokens = 0;
};

/// Continuous batching as a pure value: no clock, no thread, no CAF, no
/// randomness. The actor around it only translates. Time is passed in, in
/// milliseconds from any fixed start.
///
/// Life of a sequence: add (waiting) -> admitted by plan (slot and blocks) ->
/// prefill in chunks -> decode -> finished, aborted, or preempted back to
/// waiting with its tokens kept.
class scheduler {
 public:
  /// `limits` bounds the pool, slots, rows and context; `token_bytes` gives a
  /// token's bytes for stop strings (may be empty when none are used).
  using token_bytes_function = std::function<std::string_view(token_id)>;
  scheduler(policy rules, executor_limits limits, int steps_in_flight,
            token_bytes_function token_bytes);
  ~scheduler();
  scheduler(scheduler&&) noexcept;
  scheduler& operator=(scheduler&&) noexcept;

  /// Queues a sequence, or says why not. A sibling of a known sequence belongs
  /// to a request that was taken: no queue limit turns it away.
  rejection add(sequence_start start, std::int64_t now_ms);

  /// Ends a sequence wherever it is; no update follows for it. False when it is
  /// not known (any more).
  bool abort(sequence_id id);

  /// What the executor must be told before the step itself, in this order.
  struct planned_step {
    std::vector<slot_id> released;
    std::vector<slot_start> opened;
    struct history {
      slot_id slot;
      std::vector<token_id> tokens;
    };
    std::vector<history> histories;
    step work;
    /// Whose rows the work's items are.
    std::vector<sequence_id> sequences;
  };

  /// The next step, or nothing when there is no work or enough is in flight.
  std::optional<planned_step> plan(std::int64_t now_ms);

  /// Takes the result of the oldest step in flight.
  std::vector<sequence_update> update(const step_result& result);

  /// Sequences whose queue_timeout or request_timeout has passed; they are
  /// removed and reported with an error.
  std::vector<sequence_update> expire(std::int64_t now_ms);

  /// Replaces the policy between steps.
  void set_policy(policy rules);

  // Speculation: before each plan() whoever drafts asks draft_wishes() and
  // offers what was drafted.

  /// Which verify blocks are legal from the next plan on.
  void set_burst_rules(const burst_rules& rules);
  /// Sequences that decode now and may have two rows or more.
  std::vector<draft_wish> draft_wishes() const;
  /// About what the next step carries beside the rows of `wishes`, which are
  /// draft_wishes().
  step_load classic_load(std::span<const draft_wish> wishes) const;
  /// Prompt and emitted tokens, the anchor last; empty for an unknown id. Valid
  /// until the next call that changes the scheduler.
  std::span<const token_id> tokens_of(sequence_id id) const;
  /// Drafts to verify in the next plan: cut there to what rules, budget,
  /// context, rows and free memory allow, at worst to a classic row. Verify
  /// rows never cause a preemption. Unknown ids are ignored.
  void offer(sequence_id id, std::span<const token_id> drafts);
  /// A verdict was tripped: empties the prefix cache and sends every running
  /// sequence back to compute its rows again.
  void distrust();

  // The gate's share of the device.

  /// Free blocks and slots, or nothing where there are not as many; nobody is
  /// preempted for them.
  std::optional<loan> lend(std::int64_t blocks, std::int64_t slots);
  void take_back(const loan& lent);
  /// A sequence waits for memory that is lent out.
  bool wants_loans_back() const;

  /// Asked for every item of a planned step.
  void set_audit_draw(audit_draw draw);
  /// Items that were drawn, since the last call.
  std::vector<audit_record> take_audited();
  /// Ignored for a hold that is gone.
  void release_hold(std::uint64_t hold);
  /// Holds that were given up because memory was short, since the last call.
  std::vector<std::uint64_t> take_dropped_holds();

  /// Plants faults from the next step on, and counts steps for their conditions
  /// anew; nullptr: none. Only those that lie in the schedule count here: a
  /// prefix that is mapped wrongly, a resumption that leaves out rows, a stop
  /// token that is not noticed.
  void set_faults(std::shared_ptr<const fault_plan> faults);

  /// Nothing waits, runs or is in flight.
  bool idle() const;
  const executor_limits& limits() const;
  scheduler_stats stats() const;
  /// Checks every internal invariant (blocks conserved, tables disjoint but for
  /// shared prefixes, ...); the first one that does not hold, or empty.
  std::string check_invariants() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace vouch::engine
