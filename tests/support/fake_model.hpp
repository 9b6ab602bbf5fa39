#pragma once

#include <memory>

#include "engine/tokenizer/tokenizer.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/fake_executor.hpp"

namespace vouch::test {

/// Ids of the byte tokenizer below: 0-255 are bytes, then these.
inline constexpr engine::token_id fake_bos = 256;
inline constexpr engine::token_id fake_turn_start = 257;
inline constexpr engine::token_id fake_turn_end = 258;
inline constexpr engine::token_id fake_vocab = 259;

/// One token a byte; special tokens <s>, <|im_start|> and <|im_end|> (the end
/// of generation). add_special_tokens puts <s> in front.
std::shared_ptr<const engine::tokenizer> make_byte_tokenizer();

/// A served model without weights: the byte tokenizer, `chat_template` where it
/// is not empty, and a fake executor.
runtime::components make_fake_components(fake_executor_options options = {},
                                         const std::string& chat_template = {});

}  // namespace vouch::test
