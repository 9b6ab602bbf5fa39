#pragma once

#include <cstdint>
#include <memory>

#include "engine/gate/scenario.hpp"
#include "engine/speculation/drafter.hpp"

namespace vouch::engine {

/// The drafts of one sequence of a scenario, which know its text where the
/// pattern says so. nullptr for draft_pattern::classic, and for live without a
/// drafter. `text` outlives what is returned.
std::unique_ptr<sequence_drafter> open_pattern(
    draft_pattern pattern, const probe_text& text, token_id vocabulary,
    const std::shared_ptr<const drafter>& live, std::uint64_t seed);

}  // namespace vouch::engine
