#include "runtime/load.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/executor/executor.hpp"
#include "engine/executor/measure_costs.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/file_text.hpp"
#include "engine/models/model.hpp"
#include "kernels/cores.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/thread_pool.hpp"
#include "runtime/build_info.hpp"
#include "runtime/compute_cpus.hpp"
#include "runtime/speculation.hpp"

namespace vouch::runtime {
namespace {

/// A policy that is reloaded may run more sequences than the first one.
constexpr std::int32_t least_slots = 256;

std::shared_ptr<const engine::chat_template> load_template(
    const config& settings, const engine::checkpoint& source) {
  if (const auto& file = settings.model.chat_template; !file.empty()) {
    return std::make_shared<engine::chat_template>(engine::read_file_text(file),
                                                   file);
  }
  const auto own = source.chat_template();
  if (own.empty()) {
    return nullptr;
  }
  return std::make_shared<engine::chat_template>(
      own, source.path().string() + ": chat template");
}

kernels::kernel_plan plan_of(const config& settings) {
  const auto plan = kernels::find_plan(settings.kernels.plan);
  if (!plan) {
    throw engine::input_error(
        "kernels.plan",
        "expected invariant or fast, got '" + settings.kernels.plan + "'");
  }
  return *plan;
}

engine::cpu_executor_options executor_options(const config& settings) {
  engine::cpu_executor_options options;
  options.threads = settings.engine.threads;
  options.cpus = compute_cpus(settings.engine.cpu_list, settings.engine.threads,
                              "engine.cpu_list");
  options.kv_type = settings.engine.kv_type == "f32" ? kernels::dtype::f32
                                                     : kernels::dtype::f16;
  options.blocks = settings.engine.kv_blocks;
  options.kv_bytes = static_cast<std::size_t>(settings.engine.kv_memory_mib)
                     << 20U;
  options.slots = std::max(settings.policy.limits.max_running, least_slots);
  options.step_rows = settings.policy.limits.step_tokens;
  options.context = settings.engine.max_context;
  options.plan = plan_of(settings);
  return options;
}

/// Planted by whoever tests what must find them; null without any.
std::shared_ptr<const engine::fault_plan> planted_faults(
    const config& settings) {
  if (settings.test.faults.empty()) {
    return nullptr;
  }
  std::vector<engine::fault_spec> specs;
  for (const auto& fault : settings.test.faults) {
    try {
      specs.push_back(engine::parse_fault(fault));
    } catch (const std::invalid_argument& error) {
      throw engine::input_error("test.faults", error.what());
    }
  }
  auto plan = std::make_shared<const engine::fault_plan>(std::move(specs));
  spdlog::warn("TEST: planted faults make what is served wrong: {}",
               plan->text());
  return plan;
}

model_info describe(const config& settings, const engine::checkpoint& source,
                    bool has_template) {
  model_info info;
  info.name =
      settings.model.name.empty() ? source.default_name() : settings.model.name;
  info.path = settings.model.path;
  info.vocab_size = source.config().vocab_size;
  info.has_chat_template = has_template;
  info.fingerprint = make_fingerprint(kernels::active_target(),
                                      plan_of(settings), source.fingerprint());
  if (!settings.test.faults.empty()) {
    info.fingerprint += "-faults";
  }
  info.defaults = source.defaults();
  info.created = std::chrono::duration_cast<std::chrono::seconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  return info;
}

/// The model's weights and the drafter's. By as many threads, on the same CPUs,
/// as will compute: they touch the weights first.
std::shared_ptr<engine::model> load_weights(
    const config& settings, const engine::checkpoint& source,
    engine::cpu_executor_options& options,
    const std::function<void(double)>& progress, components& out) {
  const bool pinned = !options.cpus.empty();
  const kernels::scoped_pin pin{pinned ? options.cpus.front() : -1};
  kernels::thread_pool pool{engine::compute_threads(options), options.cpus};
  std::shared_ptr<engine::model> weights =
      engine::load_model(source, pool, progress);
  load_speculation(settings, source, *weights, options, pool, out);
  return weights;
}

/// Serving does without them, so a failure is no reason not to serve.
engine::step_cost_model measure_costs(engine::executor& device) {
  try {
    auto costs = engine::measure_step_costs(device);
    spdlog::info("step costs, ms by rows: {}", costs.text());
    return costs;
  } catch (const std::exception& error) {
    spdlog::warn("no step costs: {}", error.what());
    return {};
  }
}

}  // namespace

std::string make_fingerprint(const std::string& target,
                             kernels::kernel_plan plan,
                             const std::string& model_hash) {
  std::string text = "vouch-" + build_id() + "-" + target;
  if (plan != kernels::kernel_plan::invariant) {
    text += "-";
    text += kernels::plan_name(plan);
  }
  return text + "-" + model_hash;
}

components load_components(const config& settings,
                           const std::function<void(double)>& progress) {
  const std::filesystem::path path{settings.model.path};
  const auto source = engine::open_checkpoint(path);
  components out;
  out.parts.tokenizer = engine::load_tokenizer(path);
  if (const auto doubt = out.parts.tokenizer->warning(); !doubt.empty()) {
    spdlog::warn("{}: tokenizer: {}", settings.model.path, doubt);
  }
  out.parts.chat_template = load_template(settings, *source);
  out.parts.eos = source->eos_tokens();
  out.parts.vocab_size = source->config().vocab_size;
  out.info = describe(settings, *source, out.parts.chat_template != nullptr);

  auto options = executor_options(settings);
  out.parts.faults = planted_faults(settings);
  options.faults = out.parts.faults;
  if (options.plan == kernels::kernel_plan::fast) {
    spdlog::warn(
        "kernels.plan = fast: text depends on load from {} rows a step on, "
        "nothing is vouched for, and no prefix is shared between requests",
        kernels::fast_plan_rows);
  }
  const auto weights = load_weights(settings, *source, options, progress, out);
  out.parts.make_executor = [weights, options = std::move(options)] {
    try {
      return std::shared_ptr<engine::executor>{
          engine::make_cpu_executor(weights, options)};
    } catch (const std::invalid_argument& error) {
      throw engine::input_error("[engine] settings", error.what());
    }
  };
  if (settings.engine.measure_costs) {
    out.parts.measure_costs = measure_costs;
  }
  return out;
}

}  // namespace vouch::runtime
