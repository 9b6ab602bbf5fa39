#include "actors/loader.hpp"

#include <utility>

namespace vouch::actors {

loader_actor::behavior_type loader_behavior(
    loader_actor::stateful_pointer<loader_state> self, load_function load) {
  self->state.load = std::move(load);
  return {
      [self](load_atom) {
        auto& state = self->state;
        load_result result;
        try {
          if (!state.parts) {
            state.parts = std::make_shared<components>(state.load());
          }
          result.device = state.parts->make_executor();
          if (state.parts->measure_costs) {
            result.costs = state.parts->measure_costs(*result.device);
          }
          result.parts = state.parts;
        } catch (...) {
          result.error = std::current_exception();
        }
        self->send(caf::actor_cast<supervisor_actor>(self->current_sender()),
                   std::move(result));
      },
  };
}

}  // namespace vouch::actors
