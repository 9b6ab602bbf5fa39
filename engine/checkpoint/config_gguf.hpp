#pragma once

#include <vector>

#include "engine/checkpoint/gguf.hpp"
#include "engine/checkpoint/gguf_keys.hpp"
#include "engine/models/model_config.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// The configuration in a GGUF file's metadata and, where no key tells
/// (biases, tied head, vocabulary size, llama3 rotary scaling), in its tensors.
/// Families and features that the models do not compute are refused by name.
model_config read_config(const gguf_file& file);

/// rope.freq_base and rope.scaling.*, for any architecture; config.head_dim is
/// the number of dimensions that must be rotated.
void read_rope(const arch_keys& keys, model_config& config);

/// The tensor rope_freqs, if it is there.
void read_divisors(const gguf_file& file, model_config& config);

/// The end-of-generation ids of tokenizer.ggml.{eos,eot,eom}_token_id.
std::vector<token_id> read_eos(const gguf_file& file,
                               const model_config& config);

}  // namespace vouch::engine
