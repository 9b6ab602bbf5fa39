#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/executor/executor.hpp"
#include "engine/executor/step_runner.hpp"
#include "kernels/cores.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/float_modes.hpp"

namespace vouch::engine {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument{"cpu executor: " + what};
}

executor_limits limits_of(const model_config& config,
                          const cpu_executor_options& options) {
  if (options.kv_type != kernels::dtype::f16 &&
      options.kv_type != kernels::dtype::f32) {
    refuse("the KV cache is f16 or f32");
  }
  if (options.slots < 1 || options.step_rows < 1 || options.blocks < 0 ||
      options.context < 0 || options.threads < 0) {
    refuse(
        "slots, step_rows must be positive; blocks, context, threads not "
        "negative");
  }
  if (options.context > config.max_position) {
    refuse("a context of " + std::to_string(options.context) +
           " where the model has " + std::to_string(config.max_position));
  }
  executor_limits limits;
  limits.slots = options.slots;
  limits.step_rows = options.step_rows;
  limits.context = options.context > 0 ? options.context : config.max_position;
  limits.blocks = options.blocks;
  if (limits.blocks == 0) {
    const kernels::kv_layout layout{config.kv_heads, config.head_dim,
                                    options.kv_type};
    const std::size_t each =
        layout.block_bytes() * static_cast<std::size_t>(config.layers);
    limits.blocks = static_cast<std::int32_t>(
        std::min<std::size_t>(options.kv_bytes / each, 1U << 30));
    if (limits.blocks == 0) {
      refuse(std::to_string(options.kv_bytes) +
             " bytes of KV cache hold no block of " + std::to_string(each));
    }
  }
  return limits;
}

/// One thread takes jobs (steps and what changes slots) in the order in which
/// they were given. The runner is that thread's alone.
class cpu_executor final : public executor {
 public:
  cpu_executor(std::shared_ptr<model> weights, cpu_executor_options options)
      : limits_{limits_of(weights->config(), options)} {
    options.threads = compute_threads(options);
    description_ = "cpu " + kernels::active_target() + ", " +
                   std::to_string(options.threads) +
                   (options.threads == 1 ? " thread" : " threads");
    if (!options.cpus.empty()) {
      description_ += " on CPUs " + kernels::cpu_list_text(options.cpus);
    }
    if (options.plan != kernels::kernel_plan::invariant) {
      description_ += ", plan " + std::string{kernels::plan_name(options.plan)};
    }
    // The pool is made by the thread that will call it, so that this thread is
    // one of its members; a failure is rethrown here.
    std::promise<void> ready;
    auto started = ready.get_future();
    thread_ = std::thread{[this, weights = std::move(weights), options,
                           ready = std::move(ready)]() mutable {
      serve(std::move(weights), options, ready);
    }};
    try {
      started.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }

  ~cpu_executor() override {
    push({});  // an empty job ends the thread, after all others
    thread_.join();
  }

  const executor_limits& limits() const override { return limits_; }
  std::string description() const override { return description_; }

  void open(slot_start start) override {
    push([start = std::move(start)](step_runner& runner) mutable {
      runner.open(std::move(start));
    });
  }

  void set_history(slot_id slot, std::vector<token_id> tokens) override {
    push([slot, tokens = std::move(tokens)](step_runner& runner) mutable {
      runner.slots().set_history(slot, std::move(tokens));
    });
  }

  void release(slot_id slot) override {
    push([slot](step_runner& runner) { runner.release(slot); });
  }

  void submit(step work, completion done) override {
    push([work = std::move(work), done = std::move(done)](step_runner& runner) {
      if (!done) {
        runner.run(work);
        return;
      }
      std::string why;
      try {
        done(runner.run(work));
        return;
      } catch (const std::exception& error) {
        why = error.what();
      } catch (...) {
        why = "unknown exception";
      }
      step_result result;
      result.id = work.id;
      result.error = "step " + std::to_string(work.id) +
                     ": its result could not be delivered: " + why;
      done(std::move(result));
    });
  }

  void draft(draft_batch work, draft_completion done) override {
    push([work = std::move(work), done = std::move(done)](step_runner& runner) {
      try {
        done(runner.draft(work));
        return;
      } catch (const std::exception& error) {
        done({work.id, {}, std::string{"not delivered: "} + error.what(), 0});
      } catch (...) {
        done({work.id, {}, "not delivered: unknown exception", 0});
      }
    });
  }

  std::vector<std::byte> read_kv(const std::vector<block_id>& blocks,
                                 std::int32_t position) override {
    const auto entry = static_cast<std::size_t>(std::max(position, 0) /
                                                kernels::kv_block_tokens);
    if (position < 0 || entry >= blocks.size() || blocks[entry] < 0 ||
        blocks[entry] >= limits_.blocks) {
      throw std::out_of_range{"read_kv: position " + std::to_string(position)};
    }
    std::vector<std::byte> bytes;
    wait_for([&](step_runner& runner) {
      bytes = runner.kv().read(blocks, position);
    });
    return bytes;
  }

  void observe_logits(logits_observer observer) override {
    wait_for([&](step_runner& runner) {
      runner.observe_logits(std::move(observer));
    });
  }

  void hash_kv(kv_range range, std::function<void(kv_hashes)> done) override {
    push([range = std::move(range), done = std::move(done)](
             step_runner& runner) { done(runner.hash_kv(range)); });
  }

  void observe_ops(op_observer observer) override {
    wait_for([&](step_runner& runner) {
      runner.points().observe(std::move(observer));
    });
  }

  void set_faults(std::shared_ptr<const fault_plan> faults) override {
    push([faults = std::move(faults)](step_runner& runner) {
      runner.points().plant(faults);
    });
  }

 private:
  using job = std::function<void(step_runner&)>;

  void push(job work) {
    {
      std::lock_guard lock{mutex_};
      jobs_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

  /// Runs `work` after everything queued so far and waits for it.
  template <class Work>
  void wait_for(Work work) {
    auto done = std::make_shared<std::promise<void>>();
    auto finished = done->get_future();
    push([&work, done](step_runner& runner) {
      try {
        work(runner);
        done->set_value();
      } catch (...) {
        done->set_exception(std::current_exception());
      }
    });
    finished.get();
  }

  void serve(std::shared_ptr<model> weights,
             const cpu_executor_options& options, std::promise<void>& ready) {
    // A host application may have set any modes; a thread inherits them.
    const kernels::default_float_modes modes;
    std::unique_ptr<step_runner> runner;
    try {
      pthread_setname_np(pthread_self(), "vouch.compute");
      if (!options.cpus.empty()) {
        kernels::pin_this_thread({options.cpus.front()});
      }
      runner =
          std::make_unique<step_runner>(std::move(weights), options, limits_);
    } catch (...) {
      ready.set_exception(std::current_exception());
      return;
    }
    ready.set_value();
    while (job work = next()) {
      try {
        work(*runner);
      } catch (...) {
        runner->note_failure(std::current_exception());
      }
    }
  }

  job next() {
    std::unique_lock lock{mutex_};
    wake_.wait(lock, [&] { return !jobs_.empty(); });
    job work = std::move(jobs_.front());
    jobs_.pop_front();
    return work;
  }

  executor_limits limits_;
  std::string description_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<job> jobs_;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<executor> make_cpu_executor(std::shared_ptr<model> weights,
                                            cpu_executor_options options) {
  return std::make_unique<cpu_executor>(std::move(weights), std::move(options));
}

}  // namespace vouch::engine
