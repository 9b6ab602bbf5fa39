#include "actors/components.hpp"

#include <algorithm>
#include <optional>

namespace vouch::actors {

std::int64_t serving::id_limit() const {
  const std::int64_t known = parts.tokenizer->size();
  return parts.vocab_size > 0 ? std::min(known, parts.vocab_size) : known;
}

std::shared_ptr<const serving> make_serving(components parts,
                                            engine::executor_limits limits) {
  auto made = std::make_shared<serving>();
  const auto& tokenizer = *parts.tokenizer;
  const auto name = [&](const char* key,
                        std::optional<engine::token_id> token) {
    if (token) {
      made->special_tokens.emplace_back(key, tokenizer.token_text(*token));
    }
  };
  name("bos_token", tokenizer.bos());
  name("eos_token", tokenizer.eos());
  name("pad_token", tokenizer.pad());
  made->parts = std::move(parts);
  made->limits = limits;
  return made;
}

}  // namespace vouch::actors
