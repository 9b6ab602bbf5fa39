#include <filesystem>
#include <memory>
#include <utility>

#include "engine/tokenizer/json_reader.hpp"
#include "engine/tokenizer/json_steps.hpp"
#include "engine/tokenizer/pipeline.hpp"

namespace vouch::engine {

namespace {

token_id checked_id(const json_node& node, std::int64_t id) {
  if (id < 0 || id >= vocabulary::max_id) {
    node.fail("token id " + std::to_string(id) + " is out of range");
  }
  return static_cast<token_id>(id);
}

void read_vocabulary(const json_node& model, vocabulary& words) {
  const json_node vocab = model.at("vocab");
  for (const auto& [text, value] : vocab.object()) {
    std::int64_t id = 0;
    if (value.get(id)) {
      vocab.fail("the id of " + in_quotes(text) + " is no integer");
    }
    const token_id at = checked_id(vocab, id);
    if (words.has(at)) {
      vocab.fail(in_quotes(words.text(at)) + " and " + in_quotes(text) +
                 " are both token " + std::to_string(id));
    }
    words.set(at, std::string{text}, 0);
  }
  if (words.size() == 0) vocab.fail("is empty");
}

/// "a b" or ["a", "b"].
void read_merge(const json_node& merges, std::size_t index,
                simdjson::dom::element value, const vocabulary& words,
                merge_table& table) {
  const auto fail = [&](const std::string& what) {
    merges.fail("entry " + std::to_string(index) + ": " + what);
  };
  std::string_view left;
  std::string_view right;
  simdjson::dom::array pair;
  if (!value.get(left)) {
    const std::size_t space = left.find(' ', 1);
    if (left.empty() || space == std::string_view::npos) {
      fail("is not two tokens with a space between");
    }
    right = left.substr(space + 1);
    left = left.substr(0, space);
  } else if (value.get(pair) || pair.size() != 2 || pair.at(0).get(left) ||
             pair.at(1).get(right)) {
    fail("is not a pair of tokens");
  }
  const auto id_of = [&](std::string_view text) {
    const auto id = words.find(text);
    if (!id) fail(in_quotes(text) + " is not in the vocabulary");
    return *id;
  };
  const token_id first = id_of(left);
  const token_id second = id_of(right);
  const std::string both = std::string{left} + std::string{right};
  table.insert(first, second, {static_cast<std::uint32_t>(index), id_of(both)});
}

merge_table read_merges(const json_node& model, const vocabulary& words) {
  const json_node merges = model.at("merges");
  const simdjson::dom::array list = merges.array();
  std::size_t count = 0;
  for (auto it = list.begin(); it != list.end(); ++it) ++count;
  merge_table table{count};
  std::size_t index = 0;
  for (const simdjson::dom::element value : list) {
    read_merge(merges, index++, value, words, table);
  }
  return table;
}

bpe_options read_options(const json_node& model, const vocabulary& words) {
  if (const auto type = model.find("type"); type && type->string() != "BPE") {
    type->fail(in_quotes(type->string()) + " is not supported");
  }
  for (const auto name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto text = model.find(name);
    if (text && !text->string().empty()) text->fail("is not supported");
  }
  const auto dropout = model.find("dropout");
  if (dropout && dropout->number() != 0) {
    dropout->fail("would make encoding random; it is not supported");
  }
  bpe_options options;
  options.ignore_merges = model.boolean("ignore_merges", false);
  options.byte_fallback = model.boolean("byte_fallback", false);
  options.fuse_unknown = model.boolean("fuse_unk", false);
  if (const auto unknown = model.find("unk_token")) {
    options.unknown = words.find(unknown->string());
    if (!options.unknown) unknown->fail("is not in the vocabulary");
  }
  return options;
}

void read_added_tokens(const json_node& root, pipeline_parts& parts) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  for (const json_node& item : list->items()) {
    added_token token;
    const json_node id = item.at("id");
    token.id = checked_id(id, id.integer());
    token.content = item.at("content").string();
    token.single_word = item.boolean("single_word", false);
    token.lstrip = item.boolean("lstrip", false);
    token.rstrip = item.boolean("rstrip", false);
    token.special = item.boolean("special", false);
    token.normalized = item.boolean("normalized", !token.special);
    const bool own = parts.words.has(token.id) &&
                     parts.words.text(token.id) == token.content;
    const auto flags = static_cast<std::uint8_t>(
        vocabulary::added | (token.special ? vocabulary::special : 0) |
        (own ? 0 : vocabulary::outside));
    parts.words.set(token.id, token.content, flags);
    parts.words.set_bytes(token.id, token.content);
    parts.added.push_back(std::move(token));
  }
}

/// A token that tokenizer_config.json names, as text or as an object.
std::optional<token_id> read_role(const json_node& config, std::string_view key,
                                  const vocabulary& words) {
  const auto entry = config.find(key);
  if (!entry) return std::nullopt;
  return words.find(entry->is_object() ? entry->at("content").string()
                                       : entry->string());
}

void read_config(const std::filesystem::path& path, pipeline_parts& parts) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  const std::string file = path.string();
  simdjson::dom::parser parser;
  const json_node config = read_json(parser, file);
  parts.bos = read_role(config, "bos_token", parts.words);
  parts.eos = read_role(config, "eos_token", parts.words);
  parts.pad = read_role(config, "pad_token", parts.words);
}

}  // namespace

std::shared_ptr<const tokenizer> load_tokenizer_json(
    const std::filesystem::path& path) {
  const std::string file = path.string();
  simdjson::dom::parser parser;
  const json_node root = read_json(parser, file);
  const json_node model = root.at("model");
  pipeline_parts parts;

  read_vocabulary(model, parts.words);
  parts.words.freeze();
  bpe_options options = read_options(model, parts.words);
  auto merges = std::make_shared<merge_table>(read_merges(model, parts.words));

  if (const auto node = root.find("normalizer")) {
    read_normalizer(*node, parts.normalizers);
  }
  options.byte_level = false;
  if (const auto node = root.find("pre_tokenizer")) {
    read_pre_tokenizer(*node, parts.splitters, options.byte_level);
  }
  token_decoder decoder;
  if (const auto node = root.find("decoder")) decoder.read(*node);
  for (token_id id = 0; id < parts.words.size(); ++id) {
    if (!parts.words.has(id)) continue;
    parts.words.set_bytes(id, decoder.decode(parts.words.text(id)));
  }
  parts.leading_spaces = decoder.leading_spaces();

  read_added_tokens(root, parts);
  parts.words.freeze();
  if (const auto node = root.find("post_processor")) {
    read_post_processor(*node, parts.words, parts.prefix, parts.suffix);
  }
  if (!parts.prefix.empty()) parts.bos = parts.prefix.front();
  read_config(path.parent_path() / "tokenizer_config.json", parts);

  parts.make_model = [merges, options](const vocabulary& words) {
    return make_bpe(words, std::move(*merges), options);
  };
  return std::make_shared<pipeline_tokenizer>(std::move(parts));
}

}  // namespace vouch::engine
