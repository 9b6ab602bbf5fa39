#include "cli/probe/run.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <sstream>
#include <utility>

#include "engine/cache/block_pool.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "engine/drafters/load_drafter.hpp"
#include "engine/error.hpp"
#include "engine/executor/executor.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/file_text.hpp"
#include "engine/gate/run_unit.hpp"
#include "engine/models/model.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "kernels/attention.hpp"
#include "kernels/cores.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/compute_cpus.hpp"

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
  const auto plan = kernels::find_plan(chosen.plan);
  if (!plan) {
    throw engine::input_error(
        "--plan", "expected invariant or fast, got '" + chosen.plan + "'");
  }
  made.plan = *plan;
  if (!chosen.faults.empty()) {
    std::string all;
    for (const auto& each : chosen.faults) all += each + "\n";
    try {
      made.faults = std::make_shared<const engine::fault_plan>(
          engine::fault_plan::parse(all));
    } catch (const std::invalid_argument& error) {
      throw engine::input_error("--fault", error.what());
    }
  }
  return made;
}

std::vector<engine::probe_prompt> prompts_of(const options& chosen,
                                             const engine::tokenizer& words) {
  std::vector<engine::probe_prompt> prompts;
  const auto add = [&](const std::string& name, std::string_view text) {
    auto tokens = words.encode(text, {});
    if (!tokens.empty()) prompts.push_back({name, std::move(tokens)});
  };
  if (chosen.prompts_file.empty()) {
    for (const auto& [name, text] : engine::built_in_prompts()) {
      add(std::string{name}, text);
    }
    return prompts;
  }
  std::istringstream lines{engine::read_input_text(chosen.prompts_file)};
  std::string line;
  while (std::getline(lines, line)) {
    add("line " + std::to_string(prompts.size() + 1), line);
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

engine::verdict_scope scope_of(const options& chosen,
                               const engine::checkpoint& source,
                               const engine::cpu_executor_options& device) {
  engine::verdict_scope scope;
  scope.model = source.fingerprint();
  scope.program = engine::program_fingerprint();
  scope.backend = "cpu";
  scope.device = engine::processor_name();
  scope.dispatch = kernels::active_target();
  scope.threads = device.threads > 0 ? device.threads
                  : device.cpus.empty()
                      ? kernels::available_cores()
                      : static_cast<std::int32_t>(device.cpus.size());
  scope.plan = chosen.plan;
  scope.kv_format = chosen.kv_type;
  if (device.faults) scope.faults = device.faults->text();
  scope.step_rows = chosen.step_tokens;
  scope.chunk = chosen.chunk;
  scope.block = engine::block_tokens;
  scope.split = kernels::attention_chunk_positions;
  return scope;
}

}  // namespace

outcome run(const options& chosen,
            const std::function<void(const engine::probe_line&)>& on_line) {
  auto device_options = executor_options(chosen);
  const auto source = engine::open_checkpoint(chosen.model);
  const auto words = engine::load_tokenizer(chosen.model);
  outcome out;
  out.scope = scope_of(chosen, *source, device_options);

  engine::probe_options probing;
  std::shared_ptr<engine::model> weights;
  {
    kernels::thread_pool pool{out.scope.threads, device_options.cpus};
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
    if (loaded.loaded) {
      out.scope.drafter = engine::name_of(loaded.loaded->kind());
    } else if (loaded.device) {
      out.scope.drafter = engine::name_of(loaded.device->kind());
      const auto taps = loaded.device->taps();
      out.scope.taps.assign(taps.begin(), taps.end());
      probing.setup.live_on_device = true;
    }
    out.scope.drafter_model = loaded.fingerprint;
    probing.setup.live = loaded.loaded;
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
