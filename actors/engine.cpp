#include "actors/engine.hpp"

#include <utility>

#include "engine/gate/submit_unit.hpp"

namespace vouch::actors {

engine_actor::behavior_type engine_behavior(
    engine_actor::stateful_pointer<engine_state> self,
    std::shared_ptr<engine::executor> device) {
  self->state.device = std::move(device);
  return {
      [self](engine::scheduler::planned_step& planned) {
        auto& device = *self->state.device;
        for (const auto slot : planned.released) {
          device.release(slot);
        }
        for (auto& start : planned.opened) {
          device.open(std::move(start));
        }
        for (auto& history : planned.histories) {
          device.set_history(history.slot, std::move(history.tokens));
        }
        // Weak: a step in flight keeps nobody alive.
        const auto sender =
            caf::actor_cast<caf::weak_actor_ptr>(self->current_sender());
        device.submit(
            std::move(planned.work), [sender](engine::step_result result) {
              if (const auto strong = sender.lock()) {
                caf::anon_send(caf::actor_cast<scheduler_actor>(strong),
                               std::move(result));
              }
            });
      },
      [self](gate_work& work) {
        engine::submit_unit(
            *self->state.device, std::move(work.unit),
            [gate = std::move(work.gate)](engine::gate_unit_result result) {
              if (const auto strong = gate.lock()) {
                caf::anon_send(caf::actor_cast<gate_actor>(strong),
                               std::move(result));
              }
            });
      },
      [self](engine::draft_batch& batch) {
        const auto sender =
            caf::actor_cast<caf::weak_actor_ptr>(self->current_sender());
        self->state.device->draft(
            std::move(batch), [sender](engine::draft_result result) {
              if (const auto strong = sender.lock()) {
                caf::anon_send(caf::actor_cast<drafter_actor>(strong),
                               std::move(result));
              }
            });
      },
  };
}

}  // namespace vouch::actors
