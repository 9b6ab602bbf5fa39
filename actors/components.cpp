#include "actors/components.hpp"

#include <algorithm>

#include "engine/tokenizer/special_tokens.hpp"

namespace vouch::actors {

std::int64_t serving::id_limit() const {
  const std::int64_t known = parts.tokenizer->size();
  return parts.vocab_size > 0 ? std::min(known, parts.vocab_size) : known;
}

std::shared_ptr<const serving> make_serving(components parts,
                                            engine::executor_limits limits) {
  auto made = std::make_shared<serving>();
  made->special_tokens = engine::special_token_strings(*parts.tokenizer);
  made->parts = std::move(parts);
  made->limits = limits;
  return made;
}

}  // namespace vouch::actors
