#include "engine/tokenizer/tokenizer.hpp"

#include <algorithm>

#include "engine/error.hpp"
#include "engine/text/utf8_stream.hpp"
#include "engine/tokenizer/pipeline.hpp"

namespace vouch::engine {

std::string tokenizer::decode(const std::vector<token_id>& tokens,
                              bool skip_special_tokens) const {
  utf8_stream stream;
  std::string out;
  for (const token_id token : tokens) {
    if (skip_special_tokens && is_special(token)) {
      out += stream.finish();
    } else {
      out += stream.push(token_bytes(token));
    }
  }
  out += stream.finish();
  const std::size_t spaces = std::min(
      leading_spaces(), std::min(out.find_first_not_of(' '), out.size()));
  return out.erase(0, spaces);
}

std::shared_ptr<const tokenizer> load_tokenizer(
    const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    const auto file = path / "tokenizer.json";
    if (!std::filesystem::exists(file, error)) {
      throw input_error(path.string(), "the folder has no tokenizer.json");
    }
    return load_tokenizer_json(file);
  }
  if (!std::filesystem::exists(path, error)) {
    throw input_error(path.string(), "no such file");
  }
  if (path.extension() == ".json") return load_tokenizer_json(path);
  return load_tokenizer_gguf(path);
}

}  // namespace vouch::engine
