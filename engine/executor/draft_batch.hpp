#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/speculation/drafter.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// A sequence that wants drafts, named by its slot: what the drafter knows of
/// it stays in the executor's memory.
struct draft_item {
  slot_id slot = -1;
  /// The last emitted token, which has no KV row yet, and where it stands.
  token_id anchor = -1;
  std::int32_t position = -1;
  /// Rows of the verify block, the anchor's included.
  int width = 1;
};

/// What a drafter that runs a model is asked for at a time.
struct draft_batch {
  /// Returned with the result.
  std::uint64_t id = 0;
  std::vector<draft_item> items;
};

struct draft_item_result {
  slot_id slot = -1;
  draft proposal;
  /// Not empty: why there is no proposal ("logits of draft 0 hold a NaN"). No
  /// request fails by it. A drafter that has nothing to say, or is still
  /// reading the prompt, proposes nothing and has no problem.
  std::string problem;
};

struct draft_result {
  std::uint64_t id = 0;
  /// In the batch's order.
  std::vector<draft_item_result> items;
  /// Not empty: nothing was drafted for anybody ("the executor has no
  /// drafter"), and items is empty.
  std::string error;
  /// Wall time on the device.
  double seconds = 0.0;
};

}  // namespace vouch::engine
