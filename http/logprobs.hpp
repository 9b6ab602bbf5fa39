#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "actors/messages.hpp"

namespace vouch::http {

/// The tokens, each with at most so many of the likeliest beside it.
std::vector<actors::token_info> likeliest(
    std::vector<actors::token_info> tokens, std::size_t most);

/// The bytes of a token.
using token_bytes_function = std::function<std::string(engine::token_id)>;

/// Chat's `logprobs`: {"content":[{token, logprob, bytes, top_logprobs}]}.
boost::json::object chat_logprobs(const std::vector<actors::token_info>& tokens,
                                  const token_bytes_function& token_bytes);

/// Completions' `logprobs`: tokens, token_logprobs, top_logprobs, text_offset.
/// `offset` is where the first token begins, in characters; it is moved past
/// the last.
boost::json::object completion_logprobs(
    const std::vector<actors::token_info>& tokens, std::size_t& offset,
    const token_bytes_function& token_bytes);

/// `prompt_logprobs`: a list with null for the first token, then
/// {"id": {logprob, rank, decoded_token}}; rank is null for a token that is not
/// among the likeliest asked for.
boost::json::array prompt_logprobs(
    const std::vector<actors::token_info>& tokens,
    const token_bytes_function& token_bytes);

}  // namespace vouch::http
