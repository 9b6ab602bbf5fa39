#include "http/speculation.hpp"

#include <string>
#include <string_view>

#include "engine/gate/snapshot.hpp"
#include "engine/speculation/status.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace json = boost::json;

namespace {

json::string_view name(std::string_view text) {
  return {text.data(), text.size()};
}

json::value decline_object(const std::optional<engine::decline>& why) {
  if (!why) return nullptr;
  return {{"reason", name(engine::name_of(why->reason))},
          {"detail", valid_utf8(why->detail)}};
}

json::value drafter_object(const engine::speculation_status& status) {
  json::object out;
  out["name"] = valid_utf8(status.drafter);
  out["kind"] = nullptr;
  if (status.kind) out["kind"] = name(engine::name_of(*status.kind));
  out["width"] = status.width;
  out["declined"] = decline_object(status.declined);
  return out;
}

json::value escapes_object(const engine::speculation_status& status) {
  json::array faults;
  for (const auto& fault : status.faults) faults.push_back(json::value(fault));
  return {{"allow_inexact", status.allow_inexact},
          {"plan", status.plan},
          {"faults", std::move(faults)}};
}

json::value controller_object(const engine::speculation_status& status) {
  json::array acceptance;
  for (const auto& rates : status.acceptance) {
    acceptance.push_back(json::array(rates.begin(), rates.end()));
  }
  return {{"mode", status.controller},
          {"prior", status.prior},
          {"decided_by", status.decided_by},
          {"acceptance", std::move(acceptance)}};
}

json::value scope_object(const engine::gate_snapshot& gate) {
  const auto& scope = gate.scope;
  json::object out;
  out["id"] = gate.id;
  out["model"] = scope.model;
  out["program"] = scope.program;
  out["backend"] = scope.backend;
  out["device"] = scope.device;
  out["libraries"] = scope.libraries;
  out["dispatch"] = scope.dispatch;
  out["threads"] = scope.threads;
  out["plan"] = scope.plan;
  out["kv_format"] = scope.kv_format;
  out["drafter"] = scope.drafter;
  out["drafter_model"] = scope.drafter_model;
  out["taps"] = json::array(scope.taps.begin(), scope.taps.end());
  out["faults"] = scope.faults;
  out["step_rows"] = scope.step_rows;
  out["chunk"] = scope.chunk;
  out["block"] = scope.block;
  out["split"] = scope.split;
  return out;
}

json::value audit_object(const engine::audit_counts& audit) {
  json::object rows;
  for (int kind = 0; kind < engine::audit_kinds; ++kind) {
    json::object results;
    for (int result = 0; result < engine::audit_results; ++result) {
      const auto of = static_cast<engine::audit_result>(result);
      results[name(engine::name_of(of))] =
          audit.rows.at(static_cast<std::size_t>(kind))
              .at(static_cast<std::size_t>(result));
    }
    rows[name(engine::name_of(static_cast<engine::audit_kind>(kind)))] =
        std::move(results);
  }
  return {{"share", audit.share},         {"share_had", audit.share_had},
          {"shortfall", audit.shortfall}, {"rows", std::move(rows)},
          {"dropped", audit.dropped},     {"seconds", audit.seconds}};
}

}  // namespace

receipt receipt_of(const actors::speculation_view& view) {
  receipt out;
  if (!view.gate) {
    out.inexact = view.status && view.status->escapes();
    return out;
  }
  const auto& gate = *view.gate;
  out.verdict = gate.verdict;
  out.inexact = gate.verdict == "allow_inexact" || gate.verdict == "fast";
  out.vouched = gate.vouched_positions > 0 && !out.inexact;
  out.scope = gate.id;
  out.audit = gate.audit.share > 0.0;
  return out;
}

json::object speculation_object(const actors::speculation_view& view) {
  json::object out;
  const auto now = receipt_of(view);
  out["verdict"] = now.verdict;
  if (view.gate && view.gate->audit.shortfall && now.verdict == "equal") {
    out["verdict"] = "equal, unaudited";
  }
  out["vouched"] = now.vouched;
  out["rung"] = nullptr;
  out["declined"] = nullptr;
  out["vouched_positions"] = 0;
  out["trips"] = 0;
  out["scope"] = nullptr;
  out["verdicts"] = nullptr;
  out["probe"] = nullptr;
  out["audit"] = nullptr;
  out["drafter"] = nullptr;
  out["escapes"] = nullptr;
  out["controller"] = nullptr;
  if (view.gate) {
    const auto& gate = *view.gate;
    out["rung"] = name(engine::name_of(gate.serves));
    out["declined"] = decline_object(gate.closed);
    out["vouched_positions"] = gate.vouched_positions;
    out["scope"] = scope_object(gate);
    out["verdicts"] = json::parse(engine::json_of(gate.verdicts));
    out["probe"] = {{"running", gate.probing},
                    {"rows", gate.probe_rows},
                    {"kv_rows", gate.probe_kv_rows},
                    {"seconds", gate.probe_seconds}};
    out["audit"] = audit_object(gate.audit);
    out["trips"] = gate.trips;
  }
  if (view.status) {
    out["drafter"] = drafter_object(*view.status);
    out["escapes"] = escapes_object(*view.status);
    out["controller"] = controller_object(*view.status);
  }
  return out;
}

}  // namespace vouch::http
