#include "runtime/shutdown.hpp"

#include <spdlog/spdlog.h>

namespace vouch::runtime {

bool shut_down(caf::actor_system& system,
               const actors::supervisor_actor& supervisor,
               std::chrono::seconds deadline) {
  caf::scoped_actor self{system};
  self->monitor(supervisor);
  self->send(supervisor, actors::stop_atom_v);
  bool ended = false;
  self->receive([&](const caf::down_msg&) { ended = true; },
                caf::after(deadline) >> [] {});
  if (!ended) {
    spdlog::critical("shutdown: actors still run after {} s", deadline.count());
  }
  return ended;
}

}  // namespace vouch::runtime
