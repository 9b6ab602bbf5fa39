#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/executor/executor.hpp"

namespace vouch::engine {

/// What the executor remembers of one open sequence.
struct slot_state {
  bool open = false;
  sampling_params sampling;
  std::int32_t prompt_tokens = 0;
  /// Tokens of positions 0 ... size - 1.
  std::vector<token_id> history;
  /// The last pick and the position whose row gave it; -1: none yet, or the
  /// item that should have given it failed.
  token_id last_pick = -1;
  std::int32_t last_pick_position = -1;

  /// Writes tokens at `position` ...; whatever stood there or behind goes.
  void write(std::int32_t position, std::span<const token_id> tokens);
};

/// The slots of an executor, by id.
class slot_table {
 public:
  explicit slot_table(std::int32_t slots);

  void open(slot_start start);
  /// Ignored for a slot that is not open.
  void set_history(slot_id slot, std::vector<token_id> tokens);
  void release(slot_id slot);

  /// nullptr: no such slot, or not open.
  slot_state* find(slot_id slot);
  const slot_state* find(slot_id slot) const;

 private:
  std::vector<slot_state> slots_;
};

}  // namespace vouch::engine
