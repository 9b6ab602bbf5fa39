#include "engine/executor/slot_table.hpp"

#include <utility>

namespace vouch::engine {

void slot_state::write(std::int32_t position,
                       std::span<const token_id> tokens) {
  history.resize(static_cast<std::size_t>(position));
  history.insert(history.end(), tokens.begin(), tokens.end());
}

slot_table::slot_table(std::int32_t slots)
    : slots_(static_cast<std::size_t>(slots)) {}

void slot_table::open(slot_start start) {
  if (start.slot < 0 || static_cast<std::size_t>(start.slot) >= slots_.size()) {
    return;  // a step that names it is refused
  }
  slot_state& state = slots_[static_cast<std::size_t>(start.slot)];
  state = slot_state{};
  state.open = true;
  state.sampling = std::move(start.sampling);
  state.prompt_tokens = start.prompt_tokens;
}

void slot_table::set_history(slot_id slot, std::vector<token_id> tokens) {
  if (slot_state* state = find(slot)) {
    state->history = std::move(tokens);
  }
}

void slot_table::release(slot_id slot) {
  if (slot_state* state = find(slot)) {
    *state = slot_state{};
  }
}

slot_state* slot_table::find(slot_id slot) {
  return const_cast<slot_state*>(std::as_const(*this).find(slot));
}

const slot_state* slot_table::find(slot_id slot) const {
  if (slot < 0 || static_cast<std::size_t>(slot) >= slots_.size()) {
    return nullptr;
  }
  const slot_state& state = slots_[static_cast<std::size_t>(slot)];
  return state.open ? &state : nullptr;
}

}  // namespace vouch::engine
