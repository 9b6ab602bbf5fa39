#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/executor/executor.hpp"

namespace vouch::test {

using token_list = std::vector<engine::token_id>;
using row_bytes = std::vector<std::byte>;

/// What a sequence alone gives, byte for byte, at each of its positions.
struct reference_rows {
  token_list tokens;
  std::vector<row_bytes> logits;
  std::vector<row_bytes> kv;
};

row_bytes bytes_of(const float* values, std::int64_t n);

/// Runs `tokens` alone on one thread, `chunk` rows a step, in blocks 0, 1, ...
reference_rows run_alone(
    const std::shared_ptr<engine::model>& weights, kernels::dtype kv_type,
    const token_list& tokens, std::int32_t chunk,
    kernels::kernel_plan plan = kernels::kernel_plan::invariant);

/// Eight sequences, up to 300 tokens long, that cross block borders and the
/// attention chunk's border at 256, four of them with a common prefix, two of
/// them equal. Tokens below `vocab_size`.
std::vector<token_list> contract_sequences(std::int64_t vocab_size);

}  // namespace vouch::test
