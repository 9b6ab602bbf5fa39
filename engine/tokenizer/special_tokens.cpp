#include "engine/tokenizer/special_tokens.hpp"

#include <optional>

namespace vouch::engine {

std::vector<std::pair<std::string, std::string>> special_token_strings(
    const tokenizer& tokens) {
  std::vector<std::pair<std::string, std::string>> strings;
  const auto name = [&](const char* key, std::optional<token_id> token) {
    if (token) {
      strings.emplace_back(key, tokens.token_text(*token));
    }
  };
  name("bos_token", tokens.bos());
  name("eos_token", tokens.eos());
  name("pad_token", tokens.pad());
  return strings;
}

}  // namespace vouch::engine
