#include "runtime/speculation.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "engine/drafters/load_drafter.hpp"
#include "engine/error.hpp"
#include "engine/speculation/prior_table.hpp"
#include "runtime/gate_parts.hpp"

namespace vouch::runtime {
namespace {

/// Appends lines to the transcript's file; one writer, SCHEDULER.
std::function<void(const std::string&)> open_transcript(
    const std::string& file) {
  if (file.empty()) {
    return {};
  }
  auto out = std::make_shared<std::ofstream>(file, std::ios::app);
  if (!*out) {
    throw engine::input_error("speculation.transcript", "cannot write " + file);
  }
  return [out](const std::string& line) {
    *out << line;
    out->flush();
  };
}

/// What holds until GATE speaks.
engine::gate_view first_view(const config& settings,
                             const engine::model& target, int width) {
  engine::gate_view view;
  view.rules.drafts.vocabulary =
      static_cast<engine::token_id>(target.config().vocab_size);
  if (settings.speculation.allow_inexact) {
    view.rules.widths = engine::width_set::up_to(width);
    view.rules.positions = target.config().max_position;
    view.rules.inexact = true;
    view.verdict = "allow_inexact";
  } else {
    view.closed = engine::decline_reason::gate_not_run;
  }
  return view;
}

}  // namespace

void load_speculation(const config& settings, const engine::checkpoint& source,
                      const engine::model& target,
                      engine::cpu_executor_options& device,
                      kernels::thread_pool& pool, components& out) {
  const auto& wanted = settings.speculation;
  engine::drafter_choice choice;
  choice.name = wanted.drafter;
  choice.slots = device.slots;
  choice.context = device.context;
  choice.context_bytes = static_cast<std::size_t>(wanted.drafter_memory_mib)
                         << 20U;
  choice.lookup_min = wanted.lookup_min;
  choice.lookup_max = wanted.lookup_max;
  auto loaded =
      engine::load_drafter(choice, target, out.parts.tokenizer.get(), pool);
  auto& bursts = out.parts.bursts;
  auto& status = bursts.status;
  status.drafter = wanted.drafter;
  status.allow_inexact = wanted.allow_inexact;
  status.plan = settings.kernels.plan;
  status.faults = settings.test.faults;
  status.controller = wanted.controller;
  bursts.drafter = wanted.drafter;
  bursts.fixed = wanted.controller == "fixed";
  bursts.transcript = open_transcript(wanted.transcript);
  bursts.declined = loaded.declined;
  bursts.width = wanted.width;
  if (loaded.loaded) {
    bursts.width = std::min(bursts.width, loaded.loaded->max_width());
    bursts.is_free = loaded.loaded->is_free();
    status.kind = loaded.loaded->kind();
  } else if (loaded.device) {
    bursts.width = std::min(bursts.width, loaded.device->max_width());
    bursts.is_free = false;
    status.kind = loaded.device->kind();
    device.drafter = loaded.device;
  }
  if (status.kind) {
    bursts.prior = engine::find_prior(*status.kind, "cpu", "");
    status.prior = bursts.prior.source;
  }
  status.declined = bursts.declined;
  status.width = bursts.width;
  out.parts.drafter = loaded.loaded;
  bursts.first_view = first_view(settings, target, bursts.width);
  out.parts.gate = gate_parts(settings, source, device, loaded, out);
}

}  // namespace vouch::runtime
