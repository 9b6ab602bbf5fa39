#pragma once

#include <string>
#include <string_view>

#include "engine/speculation/scripted_drafter.hpp"

namespace vouch::engine {

/// A scripted drafter as a configuration spells it, "scripted:" left away:
///
///     right | wrong | alternating | random | empty | p=0.8,0.7
///
/// then, where it needs to know the text, "@FILE": JSON lines of whole texts
/// (prompt and continuation), {"tokens": [1, 2, ...]}, whose ids are below
/// `vocabulary`. An oracle that the caller has stands in for the file.
///
/// Throws input_error naming the word, or file and line.
scripted_options parse_script(std::string_view text, token_id vocabulary,
                              draft_oracle oracle = {});

/// The oracle of such a file.
draft_oracle read_oracle(const std::string& file, token_id vocabulary);

}  // namespace vouch::engine
