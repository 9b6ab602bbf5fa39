#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/executor/step.hpp"
#include "engine/models/model.hpp"

namespace vouch::engine {

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
  /// Backend, device and dispatch target: "cpu AVX3_DL, 2 threads".
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

  /// Copies the stored K and V bytes of one position, all layers, for tests
  /// and for the gate; waits for submitted steps first.
  virtual std::vector<std::byte> read_kv(const std::vector<block_id>& blocks,
                                         std::int32_t position) = 0;

  /// Sees every logits row as it is made (slot, position, logits), for tests
  /// and for the gate. Set while nothing is in flight.
  using logits_observer =
      std::function<void(slot_id, std::int32_t, const float*, std::int64_t)>;
  virtual void observe_logits(logits_observer observer) = 0;
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
};

/// Runs `weights` on this machine's cores, with a thread of its own that takes
/// steps in order and a pool that computes them.
std::unique_ptr<executor> make_cpu_executor(std::shared_ptr<model> weights,
                                            cpu_executor_options options);

}  // namespace vouch::engine
