#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::engine {

/// The first token that two vocabularies disagree about (its bytes, or whether
/// it is a control token), in words; empty when they are the same.
std::string vocabulary_difference(const tokenizer& drafter,
                                  const tokenizer& target);

/// The tokenizer beside a model, or nullptr when it has none. Throws
/// input_error for one that is broken.
std::shared_ptr<const tokenizer> tokenizer_of(
    const std::filesystem::path& model);

}  // namespace vouch::engine
