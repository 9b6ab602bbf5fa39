#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/executor/draft_batch.hpp"
#include "engine/executor/step.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/models/model.hpp"
#include "engine/models/op_points.hpp"

namespace vouch::engine {

class device_drafter;

/// What the scheduler must know about the device's memory.
struct executor_limits {
  /// KV blocks in the pool.
  std::int32_t blocks = 0;
  /// Sequences that can be open at once.
  std::int32_t slots = 0;
  /// Rows one step may have.
  std::int64_t step_rows = 0;
  /// Tokens of context of one sequence.
  std::int32_t context = 0;
};

/// A sequence as the executor sees it: what picks need beyond the logits.
struct slot_start {
  slot_id slot = -1;
  sampling_params sampling;
  std::int32_t prompt_tokens = 0;
  /// The drafter, where there is one, keeps a context for it from its first
  /// row on.
  bool drafts = true;
};

/// Positions from ... to - 1 of a sequence's KV.
struct kv_range {
  /// Blocks for positions 0 ... to - 1, at least.
  std::vector<block_id> blocks;
  std::int32_t from = 0;
  std::int32_t to = 0;
};

struct kv_hashes {
  /// One a position: hash64 of what read_kv returns.
  std::vector<std::uint64_t> hashes;
  /// Not empty: the range is malformed and there are none.
  std::string error;
};

/// One row of what an op of a step made (model_op); valid during the call.
struct op_row {
  step_id step;
  model_op op;
  /// -1 outside of the layers.
  std::int32_t layer;
  slot_id slot;
  std::int32_t position;
  row_format format;
  std::span<const std::byte> bytes;
};

/// Runs steps on a device. Asynchronous and device-neutral: a step is
/// submitted, its picks are learned later; steps finish in the order of
/// submission. Calls come from one thread at a time.
///
/// Per slot the executor keeps the tokens of positions 0 ... n, written by the
/// items that carry them, so that a pick's history is a function of the row's
/// position: rows after a rejected draft simply overwrite it.
class executor {
 public:
  using completion = std::function<void(step_result)>;

  virtual ~executor() = default;

  virtual const executor_limits& limits() const = 0;
  /// Backend, device and dispatch target: "cpu AVX3_DL, 2 threads"; names the
  /// kernel plan where it is not the default one.
  virtual std::string description() const = 0;

  /// Opens a slot; takes effect before the next submitted step.
  virtual void open(slot_start start) = 0;
  /// Tells the slot which tokens it holds without running them, when a prefix
  /// came from the cache: tokens of positions 0 ... tokens.size() - 1.
  virtual void set_history(slot_id slot, std::vector<token_id> tokens) = 0;
  /// Closes a slot after the last submitted step that names it.
  virtual void release(slot_id slot) = 0;

  /// Queues a step. `done` is called once, on a thread of the executor's,
  /// with the result; a malformed step (unknown slot, block out of range, more
  /// rows than limits().step_rows) is reported there too, as an error, and so
  /// is what went wrong in a call before it. When `done` throws it is called
  /// once more, with an error.
  virtual void submit(step work, completion done) = 0;

  /// Asks the drafter that runs on this device for proposals, in order with the
  /// steps: it has seen those submitted before. `done` is called once, on a
  /// thread of the executor's (here, by an executor that has none); what went
  /// wrong is in the result, and no step suffers from it. When `done` throws it
  /// is called once more, with an error.
  using draft_completion = std::function<void(draft_result)>;
  virtual void draft(draft_batch work, draft_completion done);

  /// Copies the stored K and V bytes of one position, all layers, for tests
  /// and for the gate; waits for submitted steps first.
  virtual std::vector<std::byte> read_kv(const std::vector<block_id>& blocks,
                                         std::int32_t position) = 0;

  /// Sees every logits row as it is made (slot, position, logits), for tests
  /// and for the gate. Set while nothing is in flight.
  using logits_observer =
      std::function<void(slot_id, std::int32_t, const float*, std::int64_t)>;
  virtual void observe_logits(logits_observer observer) = 0;

  /// Hashes the stored K and V of a range, after the steps submitted so far
  /// and before later ones, which wait for it. `done` is called once, on a
  /// thread of the executor's; it must not throw.
  virtual void hash_kv(kv_range range, std::function<void(kv_hashes)> done) = 0;

  /// Sees every row of every op of a step, on the executor's thread, op after
  /// op in the order of the forward pass, for bisecting. Changes no byte of
  /// what is computed. Set while nothing is in flight; empty: nobody.
  using op_observer = std::function<void(const op_row&)>;
  virtual void observe_ops(op_observer observer) = 0;

  /// Plants faults from the next submitted step on, and counts steps for their
  /// conditions anew; nullptr: none.
  virtual void set_faults(std::shared_ptr<const fault_plan> faults) = 0;
};

struct cpu_executor_options {
  /// Compute threads; 0: one a core.
  int threads = 0;
  /// Thread t runs on cpus[t] only, the executor's own thread being 0; as many
  /// as threads. Empty: where the system puts them.
  std::vector<int> cpus;
  kernels::dtype kv_type = kernels::dtype::f16;
  /// KV blocks; 0: as many as fit `kv_bytes`.
  std::int32_t blocks = 0;
  std::size_t kv_bytes = std::size_t{1} << 30;
  std::int32_t slots = 64;
  std::int64_t step_rows = 512;
  /// 0: the model's own limit.
  std::int32_t context = 0;
  /// Fills step_result::profile.
  bool profile = false;
  /// Planted from the first step on, for tests of what must find them.
  std::shared_ptr<const fault_plan> faults;
  /// Keeps contexts beside the steps and drafts between them; may be nullptr.
  std::shared_ptr<device_drafter> drafter;
  /// Of its steps only: executors of both plans can share a model.
  kernels::kernel_plan plan = kernels::kernel_plan::invariant;
};

/// Threads that an executor made with these options computes with.
int compute_threads(const cpu_executor_options& options);

/// Runs `weights` on this machine's cores, with a thread of its own that takes
/// steps in order and a pool that computes them.
std::unique_ptr<executor> make_cpu_executor(std::shared_ptr<model> weights,
                                            cpu_executor_options options);

}  // namespace vouch::engine
