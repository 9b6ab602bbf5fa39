#include "engine/checkpoint/folder_text.hpp"

#include "engine/checkpoint/json_file.hpp"
#include "engine/checkpoint/mapped_file.hpp"

namespace vouch::engine {

std::string read_chat_template(const std::filesystem::path& folder) {
  const auto own = folder / "chat_template.jinja";
  if (std::filesystem::exists(own)) {
    const mapped_file file{own};
    const auto bytes = file.bytes();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  const auto path = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(path)) return {};
  const auto config = json_object::load(path);
  if (!config.has("chat_template")) return {};
  if (config.is_string("chat_template")) {
    return *config.string("chat_template");
  }
  for (const auto& entry : config.objects("chat_template")) {
    if (entry.string("name") == "default") {
      return entry.string("template").value_or("");
    }
  }
  config.fail("chat_template", "lists no template named 'default'");
}

std::optional<token_id> read_tokenizer_eos(const std::filesystem::path& folder,
                                           const model_config& config) {
  const auto config_path = folder / "tokenizer_config.json";
  const auto tokenizer_path = folder / "tokenizer.json";
  if (!std::filesystem::exists(config_path) ||
      !std::filesystem::exists(tokenizer_path)) {
    return {};
  }
  const auto file = json_object::load(config_path);
  std::optional<std::string> text;
  if (file.is_string("eos_token")) {
    text = file.string("eos_token");
  } else if (const auto token = file.object("eos_token")) {
    text = token->string("content");
  }
  if (!text) return {};

  const auto tokenizer = json_object::load(tokenizer_path);
  std::optional<std::int64_t> id;
  for (const auto& token : tokenizer.objects("added_tokens")) {
    if (token.string("content") == text) id = token.integer("id");
  }
  if (!id) {
    const auto model = tokenizer.object("model");
    const auto vocabulary = model ? model->object("vocab") : std::nullopt;
    if (vocabulary) id = vocabulary->integer(*text);
  }
  if (!id) return {};
  if (*id < 0 || *id >= config.vocab_size) {
    file.fail("eos_token", "is id " + std::to_string(*id) +
                               " of tokenizer.json, the vocabulary has " +
                               std::to_string(config.vocab_size));
  }
  return static_cast<token_id>(*id);
}

}  // namespace vouch::engine
