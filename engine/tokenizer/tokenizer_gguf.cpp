#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "engine/checkpoint/gguf.hpp"
#include "engine/error.hpp"
#include "engine/text/utf8.hpp"
#include "engine/tokenizer/pipeline.hpp"

namespace vouch::engine {

namespace {

/// tokenizer.ggml.token_type
enum class token_type : std::int64_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

/// What tokenizer.ggml.pre stands for.
struct pre_kind {
  std::string_view name;
  pattern_kind pattern;
  bool digits;
  bool compose;
  /// Llama 3: whole pieces are looked up first, and a BOS is the default.
  bool llama3;
};

constexpr std::array<pre_kind, 7> pre_kinds = {{
    {"gpt-2", pattern_kind::gpt2, false, false, false},
    {"smollm", pattern_kind::gpt2, true, false, false},
    {"llama-bpe", pattern_kind::llama3, false, false, true},
    {"llama3", pattern_kind::llama3, false, false, true},
    {"llama-v3", pattern_kind::llama3, false, false, true},
    {"qwen2", pattern_kind::qwen2, false, true, false},
    {"qwen35", pattern_kind::qwen35, false, true, false},
}};

[[noreturn]] void fail(const gguf_file& file, std::string_view key,
                       const std::string& what) {
  throw input_error(file.path().string(),
                    "tokenizer.ggml." + std::string{key} + ": " + what);
}

std::string key_of(std::string_view name) {
  return "tokenizer.ggml." + std::string{name};
}

std::optional<token_id> read_role(const gguf_file& file, std::string_view name,
                                  const vocabulary& words) {
  const auto id = file.integer(key_of(name));
  if (!id || *id == 0xFFFFFFFF || *id < 0) return std::nullopt;
  if (*id >= words.size()) {
    fail(file, name, "there is no token " + std::to_string(*id));
  }
  return static_cast<token_id>(*id);
}

std::string unmark_spaces(std::string_view text) {
  constexpr std::string_view mark = "\xE2\x96\x81";
  std::string out;
  for (;;) {
    const std::size_t at = text.find(mark);
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    out += ' ';
    text.remove_prefix(at + mark.size());
  }
  return out;
}

void read_tokens(const gguf_file& file, bool byte_level,
                 pipeline_parts& parts) {
  const auto tokens = file.strings(key_of("tokens"));
  const auto types = file.integers(key_of("token_type"));
  if (tokens.empty()) fail(file, "tokens", "is missing or empty");
  if (tokens.size() >= static_cast<std::size_t>(vocabulary::max_id)) {
    fail(file, "tokens", "has too many entries");
  }
  if (!types.empty() && types.size() != tokens.size()) {
    fail(file, "token_type",
         "has " + std::to_string(types.size()) + " entries for " +
             std::to_string(tokens.size()) + " tokens");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<token_id>(i);
    const std::string text{tokens[i]};
    if (!is_valid_utf8(text)) {
      fail(file, "tokens",
           "entry " + std::to_string(i) + " is not valid UTF-8");
    }
    const auto type =
        types.empty() ? token_type::normal : static_cast<token_type>(types[i]);
    std::uint8_t flags = 0;
    std::string bytes = byte_level ? unmap_bytes(text) : unmark_spaces(text);
    switch (type) {
      case token_type::normal:
        break;
      case token_type::unknown:
      case token_type::control:
        flags = vocabulary::special | vocabulary::added;
        bytes = text;
        break;
      case token_type::user_defined:
        flags = vocabulary::added;
        bytes = byte_level ? text : unmark_spaces(text);
        break;
      case token_type::unused:
        bytes.clear();
        break;
      case token_type::byte: {
        const auto byte = byte_token(text);
        if (!byte) {
          fail(file, "tokens",
               "byte token " + std::to_string(i) + " is spelled " + text);
        }
        bytes.assign(1, static_cast<char>(*byte));
        break;
      }
      default:
        fail(file, "token_type",
             "entry " + std::to_string(i) + " is " + std::to_string(types[i]));
    }
    if (flags & vocabulary::added) {
      added_token token;
      token.id = id;
      token.content = bytes;
      token.special = (flags & vocabulary::special) != 0;
      parts.added.push_back(std::move(token));
    }
    parts.words.set(id, text, flags);
    parts.words.set_bytes(id, std::move(bytes));
  }
  parts.words.freeze();
}

merge_table read_merges(const gguf_file& file, const vocabulary& words) {
  const auto merges = file.strings(key_of("merges"));
  if (merges.empty()) fail(file, "merges", "is missing or empty");
  merge_table table{merges.size()};
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto bad = [&](const std::string& what) {
      fail(file, "merges", "entry " + std::to_string(i) + " " + what);
    };
    const std::size_t space = merges[i].find(' ', 1);
    if (space == std::string_view::npos) bad("is not two tokens");
    const std::string_view left = merges[i].substr(0, space);
    const std::string_view right = merges[i].substr(space + 1);
    const auto id_of = [&](std::string_view text) {
      const auto id = words.find(text);
      if (!id) bad("needs a token " + std::string{text});
      return *id;
    };
    const token_id first = id_of(left);
    const token_id second = id_of(right);
    const std::string both = std::string{left} + std::string{right};
    table.insert(first, second, {static_cast<std::uint32_t>(i), id_of(both)});
  }
  return table;
}

/// "gpt2": byte-level BPE.
void read_bpe(const gguf_file& file, pipeline_parts& parts, bool& add_bos) {
  const std::string pre{
      file.string(key_of("pre")).value_or(std::string_view{"default"})};
  const auto* kind =
      std::find_if(pre_kinds.begin(), pre_kinds.end(),
                   [&](const pre_kind& k) { return k.name == pre; });
  if (kind == pre_kinds.end()) {
    if (pre != "default") fail(file, "pre", "not supported: " + pre);
    kind = pre_kinds.begin();
    parts.warning = file.path().string() +
                    ": tokenizer.ggml.pre does not say how text is split; "
                    "it is split as for GPT-2";
  }
  read_tokens(file, true, parts);
  if (kind->compose) parts.normalizers.push_back(make_unicode_form(true));
  if (kind->digits) {
    parts.splitters.push_back(
        make_class_split({char_class::number}, split_behavior::isolated));
  }
  parts.splitters.push_back(make_pattern_split(kind->pattern));
  add_bos = kind->llama3;

  bpe_options options;
  options.ignore_merges = kind->llama3;
  auto merges = std::make_shared<merge_table>(read_merges(file, parts.words));
  parts.make_model = [merges, options](const vocabulary& words) {
    return make_bpe(words, std::move(*merges), options);
  };
}

/// "llama": SentencePiece BPE.
void read_spm(const gguf_file& file, pipeline_parts& parts, bool& add_bos) {
  read_tokens(file, false, parts);
  const auto scores = file.numbers(key_of("scores"));
  if (scores.size() != static_cast<std::size_t>(parts.words.size())) {
    fail(file, "scores",
         "has " + std::to_string(scores.size()) + " entries for " +
             std::to_string(parts.words.size()) + " tokens");
  }
  constexpr auto mark = "\xE2\x96\x81";
  if (file.boolean(key_of("add_space_prefix")).value_or(true)) {
    parts.normalizers.push_back(make_prepend(mark));
    parts.leading_spaces = 1;
  }
  parts.normalizers.push_back(make_replace(" ", mark));
  add_bos = true;
  const auto unknown = read_role(file, "unknown_token_id", parts.words);
  parts.make_model = [scores, unknown](const vocabulary& words) {
    return make_spm(words, scores, unknown);
  };
}

}  // namespace

std::shared_ptr<const tokenizer> load_tokenizer_gguf(
    const std::filesystem::path& path) {
  const gguf_file file = gguf_file::open(path);
  const std::string model{file.require_string(key_of("model"))};
  pipeline_parts parts;
  bool add_bos = false;
  if (model == "gpt2") {
    read_bpe(file, parts, add_bos);
  } else if (model == "llama") {
    read_spm(file, parts, add_bos);
  } else {
    fail(file, "model", "not supported: " + model);
  }
  parts.bos = read_role(file, "bos_token_id", parts.words);
  parts.eos = read_role(file, "eos_token_id", parts.words);
  parts.pad = read_role(file, "padding_token_id", parts.words);
  add_bos = file.boolean(key_of("add_bos_token")).value_or(add_bos);
  if (add_bos && parts.bos) parts.prefix.push_back(*parts.bos);
  if (file.boolean(key_of("add_eos_token")).value_or(false) && parts.eos) {
    parts.suffix.push_back(*parts.eos);
  }
  return std::make_shared<pipeline_tokenizer>(std::move(parts));
}

}  // namespace vouch::engine
