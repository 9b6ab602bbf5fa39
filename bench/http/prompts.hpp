#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vouch::bench {

/// A prompt as its request's body carries it.
struct prompt {
  /// The value of the field below, as JSON text.
  std::string json;
  /// "messages" for a conversation, else "prompt".
  std::string field;
};

/// `count` prompts of about `words` words each, all different from the first
/// word on, so that no server finds a prefix in a cache; `salt` makes those of
/// another run different too.
std::vector<prompt> varied_prompts(std::size_t count, std::size_t words,
                                   const std::string& salt, bool chat);

/// One prompt a line of JSON: a string, or an object with "prompt" (a string)
/// or "messages" (a list). A string becomes a user's message where `chat` is
/// set. Throws std::runtime_error with file and line.
std::vector<prompt> read_prompts(const std::string& file, bool chat);

}  // namespace vouch::bench
