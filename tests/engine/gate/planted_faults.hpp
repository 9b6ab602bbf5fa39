#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/executor/executor.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/gate/evidence.hpp"
#include "engine/models/model.hpp"

namespace vouch::engine::test {

/// Which model a fault is tried on.
enum class fault_world : std::uint8_t {
  usual,
  /// With a context of 4,608 tokens.
  long_context,
  /// With a DFlash drafter that reads its taps.
  drafting,
};

struct planted_fault {
  const char* name;
  const char* fault;
  fault_world world = fault_world::usual;
  /// It begins when a probe has ended, so only the audit can see it.
  bool late = false;
  /// It must change no text, and so nothing is to be found.
  bool harmless = false;
};

/// All that the table in docs/faults.md lists.
const std::vector<planted_fault>& planted_faults();

/// What a check said; empty: it noticed nothing.
struct found_fault {
  std::string by;
  /// Rows that the fault changed while it ran.
  std::int64_t faulted_rows = 0;
  /// Of a trip.
  std::shared_ptr<const trip_evidence> evidence;
};

/// The gate's probe over an executor with the fault, and nothing else.
found_fault probe_alone(const planted_fault& fault);
/// A server whose verdicts all say `equal`, with the audit at its default share
/// of the time of steps.
found_fault audit_alone(const planted_fault& fault);

}  // namespace vouch::engine::test
