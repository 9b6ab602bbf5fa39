#include "engine/tokenizer/json_steps.hpp"

#include <stdexcept>
#include <utility>

namespace vouch::engine {

namespace {

[[noreturn]] void fail_type(const json_node& node, std::string_view type) {
  node.at("type").fail(in_quotes(type) + " is not supported");
}

regex read_regex(const json_node& node) {
  try {
    return regex{std::string{node.string()}};
  } catch (const std::invalid_argument& error) {
    node.fail(error.what());
  }
}

/// {"String": "..."}; what a pattern is when it is no Regex.
std::string read_literal(const json_node& pattern) {
  const json_node text = pattern.at("String");
  if (text.string().empty()) text.fail("must not be empty");
  return std::string{text.string()};
}

split_behavior read_behavior(const json_node& node) {
  const std::string_view name = node.string();
  if (name == "Removed") return split_behavior::removed;
  if (name == "Isolated") return split_behavior::isolated;
  if (name == "MergedWithPrevious") return split_behavior::merged_with_previous;
  if (name == "MergedWithNext") return split_behavior::merged_with_next;
  if (name == "Contiguous") return split_behavior::contiguous;
  node.fail(in_quotes(name) + " is not supported");
}

std::unique_ptr<split_step> read_split(const json_node& node) {
  const split_behavior behavior = read_behavior(node.at("behavior"));
  const bool invert = node.boolean("invert", false);
  const json_node pattern = node.at("pattern");
  const auto expression = pattern.find("Regex");
  if (!expression) {
    return make_literal_split(read_literal(pattern), behavior, invert);
  }
  const auto known = find_pattern(expression->string());
  // A known expression matches everything, so these all leave its matches.
  if (known && (behavior == split_behavior::isolated ||
                (behavior == split_behavior::removed && invert))) {
    return make_pattern_split(*known);
  }
  return make_regex_split(read_regex(*expression), behavior, invert);
}

bool read_add_prefix_space(const json_node& node) {
  return node.boolean("add_prefix_space", true);
}

prepend_scheme read_scheme(const json_node& node) {
  const std::string name = node.string("prepend_scheme", "always");
  if (name == "never" || !read_add_prefix_space(node)) {
    return prepend_scheme::never;
  }
  if (name == "first") return prepend_scheme::first;
  if (name == "always") return prepend_scheme::always;
  node.at("prepend_scheme").fail(in_quotes(name) + " is not supported");
}

std::string read_mark(const json_node& node) {
  std::string mark = node.string("replacement", "\xE2\x96\x81");
  if (mark.empty()) node.at("replacement").fail("must not be empty");
  return mark;
}

}  // namespace

void read_normalizer(const json_node& node, normalizer_steps& out) {
  const std::string_view type = node.at("type").string();
  if (type == "Sequence") {
    for (const json_node& item : node.at("normalizers").items()) {
      read_normalizer(item, out);
    }
  } else if (type == "NFC" || type == "NFD") {
    out.push_back(make_unicode_form(type == "NFC"));
  } else if (type == "Prepend") {
    out.push_back(make_prepend(std::string{node.at("prepend").string()}));
  } else if (type == "Lowercase") {
    out.push_back(make_lowercase());
  } else if (type == "Strip") {
    out.push_back(make_strip(node.boolean("strip_left", true),
                             node.boolean("strip_right", true)));
  } else if (type == "Replace") {
    const json_node pattern = node.at("pattern");
    std::string to{node.at("content").string()};
    if (const auto expression = pattern.find("Regex")) {
      out.push_back(make_replace(read_regex(*expression), std::move(to)));
    } else {
      out.push_back(make_replace(read_literal(pattern), std::move(to)));
    }
  } else {
    fail_type(node, type);
  }
}

void read_pre_tokenizer(const json_node& node, split_steps& out,
                        bool& byte_level) {
  const std::string_view type = node.at("type").string();
  if (byte_level && type != "Sequence") {
    node.fail("nothing may follow ByteLevel");
  }
  if (type == "Sequence") {
    for (const json_node& item : node.at("pretokenizers").items()) {
      read_pre_tokenizer(item, out, byte_level);
    }
  } else if (type == "ByteLevel") {
    if (read_add_prefix_space(node)) out.push_back(make_prefix_space());
    if (node.boolean("use_regex", true)) {
      out.push_back(make_pattern_split(pattern_kind::gpt2));
    }
    byte_level = true;
  } else if (type == "Digits") {
    out.push_back(make_class_split({char_class::number},
                                   node.boolean("individual_digits", false)
                                       ? split_behavior::isolated
                                       : split_behavior::contiguous));
  } else if (type == "Split") {
    out.push_back(read_split(node));
  } else if (type == "Metaspace") {
    out.push_back(make_metaspace(read_mark(node), read_scheme(node),
                                 node.boolean("split", true)));
  } else if (type == "WhitespaceSplit") {
    out.push_back(
        make_class_split({char_class::space}, split_behavior::removed));
  } else if (type == "Whitespace") {
    constexpr auto words =
        R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}]+|[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\s]+)";
    out.push_back(
        make_regex_split(regex{words}, split_behavior::removed, true));
  } else if (type == "Punctuation") {
    const auto behavior = node.find("behavior");
    // \p{P} and what ASCII counts as punctuation beyond it.
    out.push_back(make_regex_split(
        regex{R"([\p{P}$+<=>^`|~])"},
        behavior ? read_behavior(*behavior) : split_behavior::isolated, false));
  } else if (type == "CharDelimiterSplit") {
    const json_node delimiter = node.at("delimiter");
    if (delimiter.string().empty()) delimiter.fail("must not be empty");
    out.push_back(make_literal_split(std::string{delimiter.string()},
                                     split_behavior::removed, false));
  } else {
    fail_type(node, type);
  }
}

void token_decoder::read(const json_node& node) {
  const std::string_view type = node.at("type").string();
  if (type == "Sequence") {
    for (const json_node& item : node.at("decoders").items()) read(item);
    return;
  }
  if (type == "Strip") {
    step s{step::kind::strip, node.string("content", " "), "",
           static_cast<std::size_t>(node.at("start").integer()),
           static_cast<std::size_t>(node.at("stop").integer())};
    if (s.from.empty()) node.at("content").fail("must not be empty");
    if (!fused_) {
      steps_.push_back(std::move(s));
    } else if (s.from == " " && s.stop == 0) {
      leading_spaces_ = s.start;
    } else {
      node.fail("strips a whole text of more than spaces at its start");
    }
    return;
  }
  if (fused_) node.fail("only Strip may follow Fuse");
  if (type == "Fuse") {
    fused_ = true;
  } else if (type == "ByteLevel") {
    steps_.push_back({step::kind::byte_level, "", "", 0, 0});
    fused_ = true;
  } else if (type == "ByteFallback") {
    steps_.push_back({step::kind::byte_fallback, "", "", 0, 0});
  } else if (type == "Replace") {
    steps_.push_back({step::kind::replace, read_literal(node.at("pattern")),
                      std::string{node.at("content").string()}, 0, 0});
  } else if (type == "Metaspace") {
    steps_.push_back({step::kind::replace, read_mark(node), " ", 0, 0});
    leading_spaces_ = read_scheme(node) == prepend_scheme::never ? 0 : 1;
  } else {
    fail_type(node, type);
  }
}

std::string token_decoder::decode(std::string_view spelling) const {
  std::string text{spelling};
  for (const step& s : steps_) {
    switch (s.what) {
      case step::kind::byte_level:
        text = unmap_bytes(text);
        break;
      case step::kind::byte_fallback:
        if (const auto byte = byte_token(text)) {
          return std::string(1, static_cast<char>(*byte));
        }
        break;
      case step::kind::replace:
        for (std::size_t at = 0;
             (at = text.find(s.from, at)) != std::string::npos;
             at += s.to.size()) {
          text.replace(at, s.from.size(), s.to);
        }
        break;
      case step::kind::strip: {
        const std::size_t bytes = s.from.size();
        for (std::size_t i = 0; i < s.start; ++i) {
          if (text.compare(0, bytes, s.from) != 0) break;
          text.erase(0, bytes);
        }
        for (std::size_t i = 0; i < s.stop && text.size() >= bytes; ++i) {
          if (text.compare(text.size() - bytes, bytes, s.from) != 0) break;
          text.erase(text.size() - bytes);
        }
        break;
      }
    }
  }
  return text;
}

void read_post_processor(const json_node& node, const vocabulary& words,
                         std::vector<token_id>& prefix,
                         std::vector<token_id>& suffix) {
  const std::string_view type = node.at("type").string();
  if (type == "Sequence") {
    for (const json_node& item : node.at("processors").items()) {
      read_post_processor(item, words, prefix, suffix);
    }
    return;
  }
  if (type == "ByteLevel") return;  // moves offsets only
  if (type != "TemplateProcessing") fail_type(node, type);

  bool behind = false;
  std::vector<token_id> before;
  std::vector<token_id> after;
  for (const json_node& item : node.at("single").items()) {
    if (item.find("Sequence")) {
      if (behind) item.fail("the text may stand there once");
      behind = true;
      continue;
    }
    const json_node name = item.at("SpecialToken").at("id");
    const json_node ids = node.at("special_tokens").at(name.string()).at("ids");
    for (const json_node& id : ids.items()) {
      const std::int64_t value = id.integer();
      if (value < 0 || value >= words.size()) {
        id.fail("there is no token " + std::to_string(value));
      }
      (behind ? after : before).push_back(static_cast<token_id>(value));
    }
  }
  if (!behind) node.at("single").fail("does not hold the text");
  prefix.insert(prefix.begin(), before.begin(), before.end());
  suffix.insert(suffix.end(), after.begin(), after.end());
}

}  // namespace vouch::engine
