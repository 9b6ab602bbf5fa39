#include "engine/drafters/same_vocabulary.hpp"

#include <algorithm>
#include <system_error>

#include "engine/checkpoint/gguf.hpp"

namespace vouch::engine {

std::string vocabulary_difference(const tokenizer& drafter,
                                  const tokenizer& target) {
  const auto count = std::max(drafter.size(), target.size());
  for (token_id id = 0; id < count; ++id) {
    if (drafter.token_bytes(id) != target.token_bytes(id)) {
      return "token " + std::to_string(id) + " is '" + drafter.token_text(id) +
             "', the target's '" + target.token_text(id) + "'";
    }
    if (drafter.is_special(id) != target.is_special(id)) {
      return "token " + std::to_string(id) + " '" + target.token_text(id) +
             "' is a control token of one of them only";
    }
  }
  return {};
}

std::shared_ptr<const tokenizer> tokenizer_of(
    const std::filesystem::path& model) {
  std::error_code error;
  if (std::filesystem::is_directory(model, error)) {
    if (!std::filesystem::exists(model / "tokenizer.json", error)) return {};
  } else if (!gguf_file::open(model).string("tokenizer.ggml.model")) {
    return {};
  }
  return load_tokenizer(model);
}

}  // namespace vouch::engine
