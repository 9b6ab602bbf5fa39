#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/compare/arms.hpp"
#include "cli/compare/local_arm.hpp"
#include "cli/kernel_options.hpp"
#include "cli/progress_bar.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/drafters/load_drafter.hpp"
#include "engine/error.hpp"
#include "engine/models/model.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/compute_cpus.hpp"

namespace vouch::cli::compare {
namespace {

engine::cpu_executor_options device_options(const options& chosen) {
  engine::cpu_executor_options made;
  made.threads = chosen.threads;
  made.cpus =
      runtime::compute_cpus(chosen.cpu_list, chosen.threads, "--cpu-list");
  made.slots = chosen.parallel;
  made.plan = read_plan(chosen.plan);
  made.faults = read_faults(chosen.faults);
  return made;
}

class model_runner {
 public:
  model_runner(const options& chosen, const std::vector<std::string>& prompts,
               const arm_observer& observe)
      : chosen_{chosen},
        observe_{observe},
        device_{device_options(chosen)},
        threads_{engine::compute_threads(device_)} {
    const auto source = engine::open_checkpoint(chosen.model);
    setup_.words = engine::load_tokenizer(chosen.model);
    kernels::thread_pool pool{threads_, device_.cpus};
    progress_bar bar{"Loading " + chosen.model};
    weights_ = engine::load_model(*source, pool,
                                  [&](double share) { bar.show(share); });
    setup_.vocabulary =
        static_cast<engine::token_id>(weights_->config().vocab_size);
    setup_.max_tokens = chosen.max_tokens;
    setup_.parallel = chosen.parallel;
    setup_.bytes = chosen.bytes;
    set_sampling(source->eos_tokens());
    for (const auto& prompt : prompts) {
      setup_.prompts.push_back(setup_.words->encode(prompt, {}));
    }
  }

  std::vector<arm> run() {
    {
      const auto device = engine::make_cpu_executor(weights_, device_);
      repeat("classic", *device);
      if (!arms_.front().error.empty()) {
        throw engine::input_error(chosen_.model, arms_.front().error);
      }
    }
    for (const auto& name : chosen_.drafters) run_drafter(name);
    return std::move(arms_);
  }

 private:
  void set_sampling(std::vector<engine::token_id> eos) {
    auto& s = setup_.sampling;
    s.temperature = static_cast<float>(chosen_.temperature);
    s.top_p = static_cast<float>(chosen_.top_p);
    s.presence_penalty = static_cast<float>(chosen_.presence_penalty);
    s.frequency_penalty = static_cast<float>(chosen_.frequency_penalty);
    s.repetition_penalty = static_cast<float>(chosen_.repetition_penalty);
    s.seed = chosen_.seed;
    s.stop_tokens = std::move(eos);
    s.logprobs = 0;
    s.vocab_limit = setup_.words->size();
  }

  void run_drafter(const std::string& name) {
    engine::drafter_choice choice;
    choice.name = name;
    choice.slots = chosen_.parallel;
    choice.lookup_key = chosen_.seed;
    kernels::thread_pool pool{threads_, device_.cpus};
    auto loaded =
        engine::load_drafter(choice, *weights_, setup_.words.get(), pool);
    auto with = device_;
    with.drafter = loaded.device;
    setup_.drafter = loaded.loaded;
    const auto device = engine::make_cpu_executor(weights_, with);
    const int most = loaded.loaded   ? loaded.loaded->max_width()
                     : loaded.device ? loaded.device->max_width()
                                     : engine::max_round_width;
    for (const int width : chosen_.widths) {
      const auto label = name + ", width " + std::to_string(width);
      std::string problem;
      if (loaded.declined) {
        problem = std::string{engine::name_of(loaded.declined->reason)} + ": " +
                  loaded.declined->detail;
      } else if (width > most) {
        problem =
            "it drafts for blocks of " + std::to_string(most) + " rows at most";
      }
      if (!problem.empty()) {
        add({label, 1, false, {}, {}, {}, 0.0, problem});
        continue;
      }
      setup_.width = width;
      repeat(label, *device);
    }
    setup_.width = 1;
    setup_.drafter = nullptr;
  }

  void repeat(const std::string& name, engine::executor& device) {
    for (int run = 1; run <= chosen_.runs; ++run) {
      auto made = run_local(device, setup_);
      made.name = name;
      made.run = run;
      add(std::move(made));
    }
  }

  void add(arm made) {
    observe_(made);
    arms_.push_back(std::move(made));
  }

  const options& chosen_;
  const arm_observer& observe_;
  engine::cpu_executor_options device_;
  int threads_;
  std::shared_ptr<engine::model> weights_;
  local_setup setup_;
  std::vector<arm> arms_;
};

}  // namespace

std::vector<arm> run_model(const options& chosen,
                           const std::vector<std::string>& prompts,
                           const arm_observer& observe) {
  return model_runner{chosen, prompts, observe}.run();
}

}  // namespace vouch::cli::compare
