#include "engine/gate/submit_unit.hpp"

#include <memory>
#include <utility>

namespace vouch::engine {
namespace {

/// What has come of a unit so far. Completions come one after the other, in
/// the order of submission, so nothing here is locked.
struct collected {
  gate_unit_result result;
  std::size_t missing = 0;
  std::function<void(gate_unit_result)> done;

  void arrived() {
    if (--missing == 0) done(std::move(result));
  }
};

}  // namespace

void submit_unit(executor& device, gate_unit unit,
                 std::function<void(gate_unit_result)> done) {
  auto all = std::make_shared<collected>();
  all->done = std::move(done);
  all->result.kv.resize(unit.kv.size());
  const bool steps = !unit.work.work.items.empty();
  const bool drafts = !unit.drafts.items.empty();
  all->missing = unit.kv.size() + (steps ? 1 : 0) + (drafts ? 1 : 0);
  for (const auto slot : unit.work.released) device.release(slot);
  for (auto& start : unit.work.opened) device.open(std::move(start));
  for (auto& history : unit.work.histories) {
    device.set_history(history.slot, std::move(history.tokens));
  }
  if (all->missing == 0) {
    // Only slots were released; whatever comes next runs behind that.
    all->missing = 1;
    all->arrived();
    return;
  }
  if (steps) {
    device.submit(std::move(unit.work.work), [all](step_result result) {
      all->result.step = std::move(result);
      all->arrived();
    });
  }
  if (drafts) {
    device.draft(std::move(unit.drafts), [all](draft_result made) {
      all->result.drafts = std::move(made);
      all->arrived();
    });
  }
  for (std::size_t i = 0; i < unit.kv.size(); ++i) {
    device.hash_kv(std::move(unit.kv[i]), [all, i](kv_hashes made) {
      // Of a malformed range there are none, which nothing is equal to.
      all->result.kv[i] = std::move(made.hashes);
      all->arrived();
    });
  }
}

}  // namespace vouch::engine
