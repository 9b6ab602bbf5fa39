#include "cli/bench/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/bench/arms.hpp"
#include "cli/bench/bursts.hpp"
#include "cli/bench/load.hpp"
#include "cli/bench/text.hpp"
#include "cli/progress_bar.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/gate/scope.hpp"
#include "engine/speculation/scripted_drafter.hpp"
#include "kernels/cores.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::cli::bench {

namespace {

using kernels::kernel_plan;

/// Runs after which a text on `fast` counts as known, changed or not.
constexpr int most_learning_runs = 8;

/// One arm while its session lasts.
struct live_arm {
  arm_result made;
  engine::executor* device = nullptr;
  burst_setup setup;
  burst_run sum;
  std::vector<token_list> texts;
  bool warm = false;
};

/// All sessions of one call: the model, a device for each plan, the streams.
class experiment {
 public:
  explicit experiment(const options& chosen)
      : chosen_{chosen},
        threads_{chosen},
        pin_{threads_.cpus.empty() ? -1 : threads_.cpus.front()},
        pool_{threads_.count, threads_.cpus},
        source_{engine::open_checkpoint(chosen.model)},
        texts_{chosen.model} {
    found_.model = source_->default_name();
    found_.path = chosen.model;
    found_.program = engine::program_fingerprint();
    found_.tokens = chosen.tokens;
    found_.prompt = std::max(chosen.depth, 1);
    check_room();
    results unused;
    model_ = load(chosen, pool_, unused);
    add_device(kernel_plan::invariant);
    add_device(kernel_plan::fast);
  }

  sweep_results run() {
    for (const auto streams : chosen_.streams) run_session(streams);
    return std::move(found_);
  }

 private:
  void check_room() const {
    const auto positions = positions_of(classic(1));
    const auto context = source_->config().max_position;
    if (positions > context) {
      throw engine::input_error(
          "--depth", std::to_string(found_.prompt) + " tokens of prompt, " +
                         std::to_string(found_.tokens) +
                         " more and room for a block are " +
                         std::to_string(positions) + " in a model with " +
                         std::to_string(context) + " tokens of context");
    }
  }

  bool uses(kernel_plan plan) const {
    return chosen_.price_list || kernels::plan_name(plan) == chosen_.plan;
  }

  void add_device(kernel_plan plan) {
    if (!uses(plan)) return;
    const auto most =
        *std::max_element(chosen_.streams.begin(), chosen_.streams.end());
    engine::cpu_executor_options room;
    room.threads = threads_.count;
    room.cpus = threads_.cpus;
    room.kv_type =
        chosen_.kv_type == "f32" ? kernels::dtype::f32 : kernels::dtype::f16;
    room.slots = most;
    room.blocks =
        most * (positions_of(classic(1)) / kernels::kv_block_tokens + 2);
    room.step_rows = std::max(chosen_.chunk, most * engine::max_round_width);
    room.plan = plan;
    auto made = engine::make_cpu_executor(model_, room);
    found_.devices.push_back(made->description());
    (plan == kernel_plan::fast ? fast_ : invariant_) = std::move(made);
  }

  engine::executor* device(kernel_plan plan) const {
    return plan == kernel_plan::fast ? fast_.get() : invariant_.get();
  }

  burst_setup classic(std::int32_t streams) const {
    burst_setup setup;
    for (std::int32_t s = 0; s < streams; ++s) {
      setup.prompts.push_back(texts_.tokens(found_.prompt, 17 * s));
    }
    setup.tokens = found_.tokens;
    setup.chunk = chosen_.chunk;
    setup.vocabulary =
        static_cast<engine::token_id>(source_->config().vocab_size);
    return setup;
  }

  std::shared_ptr<const engine::drafter> script(
      const burst_setup& setup, const std::vector<token_list>& texts) const {
    engine::scripted_options options;
    options.mode = engine::script::probable;
    options.probabilities = {chosen_.accept};
    options.vocabulary = setup.vocabulary;
    std::vector<token_list> whole;
    for (std::size_t s = 0; s < texts.size(); ++s) {
      whole.push_back(setup.prompts[s]);
      whole.back().insert(whole.back().end(), texts[s].begin(), texts[s].end());
    }
    options.oracle = engine::oracle_of_texts(std::move(whole));
    auto made = engine::scripted_drafter::make(std::move(options));
    if (!made.loaded) throw std::runtime_error{made.declined->detail};
    return made.loaded;
  }

  /// Blocks of `width` rows, whose script knows the text that comes. On `fast`
  /// the text depends on the blocks, so it is learned run by run.
  burst_setup bursts(std::int32_t streams, int width, kernel_plan plan) const {
    auto setup = classic(streams);
    auto longer = setup;
    longer.tokens += engine::max_round_width / 2;
    auto texts = run_bursts(*device(plan), longer).texts;
    setup.width = longer.width = width;
    for (int i = 0; i < most_learning_runs; ++i) {
      longer.drafter = script(setup, texts);
      setup.drafter = longer.drafter;
      if (plan == kernel_plan::invariant) break;
      auto next = run_bursts(*device(plan), longer).texts;
      if (same_texts(next, texts, longer.tokens) ==
          static_cast<int>(texts.size())) {
        break;
      }
      texts = std::move(next);
    }
    return setup;
  }

  static int same_texts(const std::vector<token_list>& a,
                        const std::vector<token_list>& b, std::int32_t tokens) {
    int same = 0;
    for (std::size_t s = 0; s < a.size(); ++s) {
      const auto n = std::min(
          {a[s].size(), b[s].size(), static_cast<std::size_t>(tokens)});
      if (n > 0 && std::equal(a[s].begin(),
                              a[s].begin() + static_cast<std::ptrdiff_t>(n),
                              b[s].begin())) {
        ++same;
      }
    }
    return same;
  }

  void add_arm(std::vector<std::unique_ptr<live_arm>>& into, std::string name,
               burst_setup setup, kernel_plan plan) const {
    auto arm = std::make_unique<live_arm>();
    arm->made.name = std::move(name);
    arm->made.plan = kernels::plan_name(plan);
    arm->made.width = setup.width;
    arm->device = device(plan);
    arm->setup = std::move(setup);
    into.push_back(std::move(arm));
  }

  std::vector<std::unique_ptr<live_arm>> make_arms(std::int32_t streams) const {
    std::vector<std::unique_ptr<live_arm>> all;
    const auto own = chosen_.price_list
                         ? kernel_plan::invariant
                         : kernels::find_plan(chosen_.plan).value();
    add_arm(all, "classic", classic(streams), own);
    add_arm(all, "classic again", classic(streams), own);
    if (chosen_.price_list) {
      add_arm(all, "A fast, declined", classic(streams), kernel_plan::fast);
    }
    for (const auto width : chosen_.widths) {
      const auto of = std::to_string(width);
      if (!chosen_.price_list) {
        add_arm(all, "width " + of, bursts(streams, width, own), own);
        continue;
      }
      add_arm(all, "B invariant, width " + of,
              bursts(streams, width, kernel_plan::invariant),
              kernel_plan::invariant);
      add_arm(all, "D fast, width " + of,
              bursts(streams, width, kernel_plan::fast), kernel_plan::fast);
    }
    return all;
  }

  void run_session(std::int32_t streams) {
    auto all = make_arms(streams);
    arms timed;
    for (auto& each : all) {
      timed.add([arm = each.get()] {
        auto run = run_bursts(*arm->device, arm->setup);
        const double rate = run.rate();
        if (arm->warm) add(arm->sum, run);
        arm->warm = true;
        arm->texts = std::move(run.texts);
        return rate;
      });
    }
    progress_bar bar{std::to_string(streams) +
                     (streams == 1 ? " stream" : " streams")};
    timed.run(chosen_.repeat, [&](double share) { bar.show(share); });
    found_.sessions.push_back(judge(streams, all, timed));
  }

  session_result judge(std::int32_t streams,
                       const std::vector<std::unique_ptr<live_arm>>& all,
                       const arms& timed) const {
    session_result made;
    made.streams = streams;
    made.opening = spread_of(timed.opening());
    made.closing = spread_of(timed.closing());
    made.floor = timed.floor();
    made.drifted = timed.drifted();
    const live_arm& first = *all.front();
    const live_arm& fast = *all[chosen_.price_list ? 2 : 0];
    for (std::size_t i = 0; i < all.size(); ++i) {
      live_arm& arm = *all[i];
      finish(arm, arm.made.plan == fast.made.plan ? fast : first);
      arm.made.rate = spread_of(timed.rates(i));
      arm.made.ratio = timed.ratio(i);
      arm.made.resolved = timed.resolved(i);
      if (chosen_.price_list) {
        arm.made.fast_ratio = ratios_of(timed.rates(i), timed.rates(2));
        arm.made.fast_resolved =
            std::abs(arm.made.fast_ratio.median - 1.0) > made.floor;
      }
      arm.made.equal_texts = same_texts(arm.texts, first.texts, found_.tokens);
      const bool promises =
          arm.made.plan == kernels::plan_name(kernel_plan::invariant);
      made.texts_hold =
          made.texts_hold && (!promises || arm.made.equal_texts == streams);
      made.arms.push_back(arm.made);
    }
    return made;
  }

  /// From the sums of an arm, beside those of classic on its plan.
  void finish(live_arm& arm, const live_arm& base) const {
    const auto step = [](const burst_run& of) {
      return of.step_seconds / static_cast<double>(of.steps);
    };
    auto& made = arm.made;
    made.step_units = step(arm.sum) / step(base.sum);
    made.drafter_seconds =
        arm.sum.drafter_seconds / static_cast<double>(arm.sum.steps);
    if (arm.sum.blocks == 0) return;
    made.block_tokens = static_cast<double>(arm.sum.block_tokens) /
                        static_cast<double>(arm.sum.blocks);
    double expected = 0.0;
    for (int i = 0; i < made.width; ++i)
      expected += std::pow(chosen_.accept, i);
    made.predicted =
        expected / (made.step_units + made.drafter_seconds / step(base.sum));
    for (std::size_t i = 0; i < arm.sum.reached.size(); ++i) {
      if (arm.sum.reached[i] == 0) break;
      made.acceptance.push_back(static_cast<double>(arm.sum.accepted[i]) /
                                static_cast<double>(arm.sum.reached[i]));
    }
  }

  const options& chosen_;
  compute_threads threads_;
  kernels::scoped_pin pin_;
  kernels::thread_pool pool_;
  std::shared_ptr<engine::checkpoint> source_;
  prompts texts_;
  sweep_results found_;
  std::shared_ptr<engine::model> model_;
  std::unique_ptr<engine::executor> invariant_;
  std::unique_ptr<engine::executor> fast_;
};

}  // namespace

bool sweep_results::texts_hold() const {
  return std::all_of(sessions.begin(), sessions.end(),
                     [](const auto& each) { return each.texts_hold; });
}

sweep_results run_sweep(const options& chosen) {
  return experiment{chosen}.run();
}

}  // namespace vouch::cli::bench
