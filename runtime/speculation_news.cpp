#include "runtime/speculation_news.hpp"

#include <utility>

namespace vouch::runtime {
namespace {

using engine::decline;
using engine::rung;
using lines = std::vector<news_line>;
using level = news_level;

std::string text_of(const decline& why) {
  std::string text{engine::name_of(why.reason)};
  return why.detail.empty() ? text : text + ": " + why.detail;
}

void tell_decline(const std::optional<decline>& why, lines& out) {
  if (!why) {
    out.push_back({level::info, "speculation: the drafter drafts"});
    return;
  }
  const bool wanted = why->reason != engine::decline_reason::no_drafter;
  out.push_back({wanted ? level::warning : level::info,
                 "speculation: nothing is drafted: " + text_of(*why)});
}

void tell_start(const engine::speculation_status& now, lines& out) {
  if (now.declined) {
    tell_decline(now.declined, out);
  } else {
    out.push_back(
        {level::info, "speculation: drafter " + now.drafter +
                          ", blocks of up to " + std::to_string(now.width) +
                          " rows, controller " + now.controller +
                          ", first guesses from '" + now.prior + "'"});
  }
  const auto escape = [&](const std::string& what) {
    out.push_back({level::warning,
                   "ESCAPE: " + what + "; every answer it touches says so"});
  };
  if (now.allow_inexact) {
    escape("speculation.allow_inexact engages what the gate declines");
  }
  if (now.plan != "invariant") {
    escape("kernels.plan = \"" + now.plan +
           "\" lets results depend on the number of rows");
  }
  for (const auto& fault : now.faults) {
    escape("test.faults plants '" + fault + "'");
  }
}

void tell_status(const engine::speculation_status* before,
                 const engine::speculation_status& now, lines& out) {
  if (before == nullptr) return tell_start(now, out);
  const auto said = [](const auto& status) {
    return status.declined ? text_of(*status.declined) : std::string{};
  };
  if (said(*before) != said(now)) tell_decline(now.declined, out);
}

void tell_verdict(const std::string& of, const engine::verdict& before,
                  const engine::verdict& now, lines& out) {
  if (before.state == now.state) return;
  auto text = "gate: " + of + ": " + engine::describe(now);
  if (now.source != engine::verdict_source::none) {
    text += " (" + std::string{engine::name_of(now.source)} + ")";
  }
  if (!now.tripped()) {
    out.push_back(
        {now.wrong() ? level::warning : level::info, std::move(text)});
    return;
  }
  text += now.evidence.empty() ? "; no evidence was kept"
                               : "; evidence: " + now.evidence;
  out.push_back({level::error, std::move(text)});
}

void tell_gate(const engine::gate_snapshot* before,
               const engine::gate_snapshot& now, lines& out) {
  static const engine::gate_snapshot nothing;
  if (before == nullptr) before = &nothing;
  if (before->id != now.id) {
    out.push_back({level::info, "gate: scope " + now.id});
    before = &nothing;
  }
  const auto& old = before->verdicts;
  tell_verdict("one sequence a step", old.alone, now.verdicts.alone, out);
  tell_verdict("many sequences a step", old.batch, now.verdicts.batch, out);
  for (const auto& [width, verdict] : now.verdicts.widths) {
    const auto found = old.widths.find(width);
    tell_verdict("blocks of " + std::to_string(width) + " rows",
                 found == old.widths.end() ? engine::verdict{} : found->second,
                 verdict, out);
  }
  if (before != &nothing && before->serves != now.serves) {
    const bool worse = now.serves > before->serves;
    out.push_back({worse ? level::warning : level::info,
                   "gate: serves '" + std::string{name_of(now.serves)} +
                       "' from now on"});
  }
  if (before->audit.shortfall != now.audit.shortfall) {
    out.push_back(
        {now.audit.shortfall ? level::warning : level::info,
         now.audit.shortfall
             ? "audit: gets less than its share; verdicts are 'equal, "
               "unaudited'"
             : "audit: gets its share again"});
  }
}

}  // namespace

std::vector<news_line> speculation_news(const actors::speculation_view& before,
                                        const actors::speculation_view& now) {
  lines out;
  if (now.status && now.status != before.status) {
    tell_status(before.status.get(), *now.status, out);
  }
  if (now.gate && now.gate != before.gate) {
    tell_gate(before.gate.get(), *now.gate, out);
  }
  return out;
}

}  // namespace vouch::runtime
