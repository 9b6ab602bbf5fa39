#include "runtime/gate_parts.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "engine/cache/block_pool.hpp"
#include "engine/executor/device_drafter.hpp"
#include "engine/faults/fault_plan.hpp"
#include "kernels/attention.hpp"
#include "kernels/dispatch.hpp"
#include "runtime/folders.hpp"

namespace vouch::runtime {

engine::verdict_scope make_scope(const engine::checkpoint& source,
                                 const engine::cpu_executor_options& device,
                                 const engine::drafter_load& drafter) {
  engine::verdict_scope scope;
  scope.model = source.fingerprint();
  scope.program = engine::program_fingerprint();
  scope.backend = "cpu";
  scope.libraries = "compiler " __VERSION__;
  scope.device = engine::processor_name();
  scope.dispatch = kernels::active_target();
  scope.threads = engine::compute_threads(device);
  scope.plan = kernels::plan_name(device.plan);
  scope.kv_format = device.kv_type == kernels::dtype::f32 ? "f32" : "f16";
  if (drafter.loaded) {
    scope.drafter = engine::name_of(drafter.loaded->kind());
  } else if (drafter.device) {
    scope.drafter = engine::name_of(drafter.device->kind());
    const auto taps = drafter.device->taps();
    scope.taps.assign(taps.begin(), taps.end());
  }
  scope.drafter_model = drafter.fingerprint;
  if (device.faults) {
    scope.faults = device.faults->text();
  }
  scope.block = engine::block_tokens;
  scope.split = kernels::attention_chunk_positions;
  return scope;
}

namespace {

/// Those that help most come first: the gate opens width by width.
std::vector<int> widths_to_probe(int most) {
  std::vector<int> widths;
  for (const int first : {4, 2, 8, 16}) {
    if (first <= most) {
      widths.push_back(first);
    }
  }
  if (std::find(widths.begin(), widths.end(), most) == widths.end()) {
    widths.insert(widths.begin(), most);
  }
  for (int width = 2; width <= most; ++width) {
    if (std::find(widths.begin(), widths.end(), width) == widths.end()) {
      widths.push_back(width);
    }
  }
  return widths;
}

}  // namespace

std::vector<engine::probe_prompt> built_in_prompts(
    const engine::tokenizer& words) {
  std::vector<engine::probe_prompt> made;
  for (const auto& [name, text] : engine::built_in_prompts()) {
    auto tokens = words.encode(text, {});
    if (!tokens.empty()) {
      made.push_back({std::string{name}, std::move(tokens)});
    }
  }
  return made;
}

actors::make_gate_setup gate_parts(const config& settings,
                                   const engine::checkpoint& source,
                                   const engine::cpu_executor_options& device,
                                   const engine::drafter_load& drafter,
                                   const components& out) {
  actors::gate_setup setup;
  setup.scope = make_scope(source, device, drafter);
  setup.verdicts = verdict_folder(settings, from_environment);
  setup.evidence = evidence_folder(settings, from_environment);
  setup.warn = [](const std::string& message) { spdlog::warn(message); };

  auto& options = setup.options;
  options.enabled = settings.speculation.probe == "on";
  options.allow_inexact = settings.speculation.allow_inexact;
  options.unconstrained = settings.kernels.plan == "fast";
  options.audit.share = options.enabled ? settings.speculation.audit_share : 0;
  auto& probe = options.probe;
  probe.setup.vocabulary = static_cast<engine::token_id>(out.parts.vocab_size);
  probe.setup.live = drafter.loaded;
  probe.setup.live_on_device = drafter.device != nullptr;
  probe.setup.faults = out.parts.faults;
  probe.prompts = built_in_prompts(*out.parts.tokenizer);
  if (!out.parts.bursts.declined) {
    probe.widths = widths_to_probe(out.parts.bursts.width);
  }
  probe.split = kernels::attention_chunk_positions;
  return [setup = std::move(setup)](const engine::policy& rules,
                                    const engine::executor_limits& served) {
    auto made = setup;
    made.scope.step_rows = rules.limits.step_tokens;
    made.scope.chunk = rules.prefill.chunk_tokens;
    made.options.probe.setup.rules = rules;
    made.options.probe.setup.limits = served;
    return made;
  };
}

}  // namespace vouch::runtime
