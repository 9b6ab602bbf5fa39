#include "cli/probe/run.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <sstream>
#include <utility>

#include "cli/kernel_options.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/drafters/load_drafter.hpp"
#include "engine/error.hpp"
#include "engine/executor/executor.hpp"
#include "engine/file_text.hpp"
#include "engine/gate/run_unit.hpp"
#include "engine/models/model.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "kernels/attention.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/compute_cpus.hpp"
#include "runtime/gate_parts.hpp"

namespace vouch::cli::probe {
namespace {

constexpr std::int32_t slots = 64;

engine::cpu_executor_options executor_options(const options& chosen) {
  engine::cpu_executor_options made;
  made.threads = chosen.threads;
  made.cpus =
      runtime::compute_cpus(chosen.cpu_list, chosen.threads, "--cpu-list");
  made.kv_type =
      chosen.kv_type == "f32" ? kernels::dtype::f32 : kernels::dtype::f16;
  made.kv_bytes = static_cast<std::size_t>(chosen.kv_memory_mib) << 20U;
  made.slots = slots;
  made.step_rows = chosen.step_tokens;
  made.context = chosen.max_context;
  made.plan = read_plan(chosen.plan);
  made.faults = read_faults(chosen.faults);
  return made;
}

std::vector<engine::probe_prompt> prompts_of(const options& chosen,
                                             const engine::tokenizer& words) {
  if (chosen.prompts_file.empty()) return runtime::built_in_prompts(words);
  std::vector<engine::probe_prompt> prompts;
  std::istringstream lines{engine::read_input_text(chosen.prompts_file)};
  std::string line;
  while (std::getline(lines, line)) {
    auto tokens = words.encode(line, {});
    if (tokens.empty()) continue;
    prompts.push_back(
        {"line " + std::to_string(prompts.size() + 1), std::move(tokens)});
  }
  if (prompts.empty()) {
    throw engine::input_error(chosen.prompts_file, "holds no prompt");
  }
  return prompts;
}

/// All of the executor's memory, as this process serves nobody.
engine::loan loan_of(const engine::gate_need& need) {
  engine::loan lent;
  lent.blocks.resize(static_cast<std::size_t>(need.blocks));
  std::iota(lent.blocks.begin(), lent.blocks.end(), 0);
  lent.slots.resize(static_cast<std::size_t>(need.slots));
  std::iota(lent.slots.begin(), lent.slots.end(), 0);
  return lent;
}

}  // namespace

outcome run(const options& chosen,
            const std::function<void(const engine::probe_line&)>& on_line) {
  auto device_options = executor_options(chosen);
  const auto source = engine::open_checkpoint(chosen.model);
  const auto words = engine::load_tokenizer(chosen.model);
  outcome out;

  engine::probe_options probing;
  std::shared_ptr<engine::model> weights;
  {
    kernels::thread_pool pool{engine::compute_threads(device_options),
                              device_options.cpus};
    weights = engine::load_model(*source, pool);
    engine::drafter_choice choice;
    choice.name = chosen.drafter;
    choice.slots = slots;
    choice.lookup_key = chosen.seed;
    auto loaded = engine::load_drafter(choice, *weights, words.get(), pool);
    out.drafter = loaded.description;
    if (loaded.declined && chosen.drafter != "none") {
      out.declined = std::string{engine::name_of(loaded.declined->reason)};
      out.declined += ": " + loaded.declined->detail;
    }
    out.scope = runtime::make_scope(*source, device_options, loaded);
    out.scope.step_rows = chosen.step_tokens;
    out.scope.chunk = chosen.chunk;
    probing.setup.live = loaded.loaded;
    probing.setup.live_on_device = loaded.device != nullptr;
    device_options.drafter = loaded.device;
  }
  std::unique_ptr<engine::executor> device;
  try {
    device = engine::make_cpu_executor(weights, device_options);
  } catch (const std::invalid_argument& error) {
    throw engine::input_error(chosen.model, error.what());
  }
  auto& setup = probing.setup;
  setup.limits = device->limits();
  setup.faults = device_options.faults;
  setup.rules.limits.step_tokens = chosen.step_tokens;
  setup.rules.prefill.chunk_tokens = chosen.chunk;
  setup.vocabulary =
      static_cast<engine::token_id>(weights->config().vocab_size);
  probing.prompts = prompts_of(chosen, *words);
  probing.widths = chosen.widths;
  probing.walk = chosen.walk;
  probing.positions = std::min(probing.positions, chosen.positions);
  probing.last_positions = chosen.all_positions ? 0 : chosen.positions;
  probing.prompt_tokens = chosen.prompt_tokens;
  probing.split = kernels::attention_chunk_positions;
  probing.random_rows = chosen.rows;
  probing.read_rows = true;
  probing.measure_all = true;
  probing.seed = chosen.seed;

  const auto begin = std::chrono::steady_clock::now();
  out.probed = std::make_unique<engine::probe>(std::move(probing));
  auto& probed = *out.probed;
  std::size_t shown = 0;
  const auto now_ms = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  while (!probed.done()) {
    if (const auto need = probed.need()) probed.lend(loan_of(*need));
    if (auto unit = probed.next()) {
      probed.take(engine::run_unit(*device, std::move(*unit)), now_ms());
    }
    (void)probed.give_back();
    while (shown < probed.lines().size()) on_line(probed.lines()[shown++]);
  }
  out.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return out;
}

}  // namespace vouch::cli::probe
