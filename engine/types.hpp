#pragma once

#include <cstdint>

namespace vouch::engine {

/// A vocabulary index. Negative values are never tokens.
using token_id = std::int32_t;

/// One sequence (one choice of one request) for as long as the process lives;
/// never reused.
using sequence_id = std::uint64_t;

/// A place in the executor's per-sequence state; reused after `release`.
using slot_id = std::int32_t;

/// A KV block of the pool.
using block_id = std::int32_t;

/// Steps are numbered from 1 in the order in which they are planned.
using step_id = std::uint64_t;

}  // namespace vouch::engine
