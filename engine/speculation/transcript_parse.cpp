#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include <simdjson.h>

#include "engine/error.hpp"
#include "engine/speculation/transcript.hpp"

namespace vouch::engine {
namespace {

namespace dom = simdjson::dom;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t last_token_id = std::numeric_limits<token_id>::max();

/// One line's object; every complaint names file, line and field.
class line_fields {
 public:
  line_fields(const std::string& file, std::size_t line, std::string_view text)
      : file_{file}, line_{line}, text_{text} {
    dom::element root;
    if (const auto error = parser_.parse(text_).get(root)) {
      fail(std::string{"not valid JSON: "} + simdjson::error_message(error));
    }
    if (root.get(object_) != simdjson::SUCCESS) fail("not a JSON object");
    for (const auto& [key, value] : object_) {
      const std::string name{key};
      if (std::find(unread_.begin(), unread_.end(), name) != unread_.end()) {
        fail(name, "occurs twice");
      }
      unread_.push_back(name);
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw input_error{file_, "line " + std::to_string(line_) + ": " + what};
  }
  [[noreturn]] void fail(const std::string& field,
                         const std::string& what) const {
    fail("field '" + field + "': " + what);
  }

  std::int64_t integer(const char* field, std::int64_t least = 0,
                       std::int64_t most = no_limit) {
    return integer(field, take(field), least, most);
  }
  token_id token(const char* field) {
    return static_cast<token_id>(integer(field, 0, last_token_id));
  }
  std::uint64_t bits(const char* field) {
    std::uint64_t value = 0;
    if (take(field).get(value) != simdjson::SUCCESS) {
      fail(field, "not an integer of 0 to 2^64 - 1");
    }
    return value;
  }
  std::string string(const char* field) {
    std::string_view value;
    if (take(field).get(value) != simdjson::SUCCESS) {
      fail(field, "not a string");
    }
    return std::string{value};
  }
  std::vector<std::int64_t> integers(const char* field, std::int64_t least,
                                     std::int64_t most) {
    dom::array array;
    if (take(field).get(array) != simdjson::SUCCESS) {
      fail(field, "not an array");
    }
    std::vector<std::int64_t> out;
    for (const dom::element element : array) {
      const auto at =
          std::string{field} + "[" + std::to_string(out.size()) + "]";
      out.push_back(integer(at, element, least, most));
    }
    return out;
  }
  std::vector<token_id> tokens(const char* field, std::int64_t least = 0) {
    const auto wide = integers(field, least, last_token_id);
    return {wide.begin(), wide.end()};
  }
  sequence_name name() { return {string("request"), integer("choice")}; }

  /// To be called when all fields were read.
  void end() const {
    if (!unread_.empty()) fail(unread_.front(), "unknown");
  }

 private:
  dom::element take(const char* field) {
    const auto at = std::find(unread_.begin(), unread_.end(), field);
    dom::element value;
    if (at == unread_.end() ||
        object_.at_key(field).get(value) != simdjson::SUCCESS) {
      fail(field, "missing");
    }
    unread_.erase(at);
    return value;
  }
  std::int64_t integer(const std::string& field, dom::element element,
                       std::int64_t least, std::int64_t most) const {
    std::int64_t value = 0;
    if (element.get(value) != simdjson::SUCCESS) fail(field, "not an integer");
    if (value < least || value > most) {
      fail(field, std::to_string(value) + " is out of range (" +
                      std::to_string(least) + " to " + std::to_string(most) +
                      ")");
    }
    return value;
  }

  const std::string& file_;
  std::size_t line_;
  dom::parser parser_;
  simdjson::padded_string text_;
  dom::object object_;
  std::vector<std::string> unread_;
};

transcript_sequence read_sequence(line_fields& from) {
  transcript_sequence s;
  s.name = from.name();
  s.prompt_tokens = from.integer("prompt_tokens", 1);
  s.last_token = from.token("last_token");
  s.budget = from.integer("budget", 1);
  s.context = from.integer("context", 1);
  s.stop_tokens = from.tokens("stop_tokens");
  for (const auto width : from.integers("widths", 2, max_round_width)) {
    s.widths.insert(static_cast<int>(width));
  }
  s.seed = from.bits("seed");
  s.drafter = from.string("drafter");
  return s;
}

transcript_burst read_burst(line_fields& from) {
  transcript_burst b;
  b.name = from.name();
  b.burst = from.integer("burst");
  b.generated = from.integer("generated");
  b.last_token = from.token("last_token");
  b.cache = from.integer("cache");
  b.verdict = from.string("verdict");
  return b;
}

transcript_round read_round(line_fields& from) {
  transcript_round r;
  r.name = from.name();
  r.burst = from.integer("burst");
  r.round = from.integer("round");
  r.width = from.integer("width", 1, max_round_width);
  r.position = from.integer("position");
  r.anchor = from.token("anchor");
  r.drafts = from.tokens("drafts");
  r.picks = from.tokens("picks", -1);
  r.accepted = from.integer("accepted");
  r.emitted = from.tokens("emitted");
  r.cache_before = from.integer("cache_before");
  r.cache_after = from.integer("cache_after");
  r.seed = from.bits("seed");
  r.sampler_position = from.integer("sampler_position");
  r.verdict = from.string("verdict");
  const auto end = from.string("end");
  if (const auto known = round_end_of(end)) {
    r.end = *known;
  } else {
    from.fail("end", "'" + end + "' is no end of a round");
  }
  return r;
}

transcript_record read_record(line_fields& from) {
  const auto kind = from.string("record");
  if (kind == "sequence") return read_sequence(from);
  if (kind == "burst") return read_burst(from);
  if (kind == "round") return read_round(from);
  from.fail("record", "'" + kind + "' is none of sequence, burst, round");
}

/// Calls use(line, fields) for every line.
template <class Use>
void each_line(const std::string& file, std::string_view text, Use use) {
  std::size_t line = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    line_fields fields{file, ++line, text.substr(0, end)};
    use(line, fields);
    fields.end();
    text = end == std::string_view::npos ? std::string_view{}
                                         : text.substr(end + 1);
  }
}

}  // namespace

std::vector<transcript_entry> parse_transcript(const std::string& file,
                                               std::string_view text) {
  std::vector<transcript_entry> entries;
  each_line(file, text, [&](std::size_t line, line_fields& from) {
    entries.push_back({line, read_record(from)});
  });
  return entries;
}

classic_texts parse_classic_texts(const std::string& file,
                                  std::string_view text) {
  classic_texts texts;
  each_line(file, text, [&](std::size_t, line_fields& from) {
    const auto name = from.name();
    if (!texts.emplace(name, from.tokens("tokens")).second) {
      from.fail("request", "'" + name.request + "', choice " +
                               std::to_string(name.choice) + ", occurs twice");
    }
  });
  return texts;
}

}  // namespace vouch::engine
