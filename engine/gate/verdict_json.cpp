// Verdicts as JSON, and back.
#include <charconv>
#include <limits>
#include <utility>

#include <boost/json.hpp>

#include "engine/error.hpp"
#include "engine/gate/verdict.hpp"
#include "engine/speculation/width_set.hpp"

namespace vouch::engine {
namespace {

namespace json = boost::json;

json::object object_of(const divergence& at) {
  return {{"position", at.position},
          {"row", at.row},
          {"differing_bytes", at.differing_bytes},
          {"total_bytes", at.total_bytes},
          {"where", at.where}};
}

json::object object_of(const verdict& of) {
  return {{"state", name_of(of.state)},
          {"reason", of.reason},
          {"first",
           of.first ? json::value(object_of(*of.first)) : json::value(nullptr)},
          {"rows", of.rows},
          {"kv_rows", of.kv_rows},
          {"positions", of.positions},
          {"when_ms", of.when_ms},
          {"source", name_of(of.source)},
          {"evidence", of.evidence}};
}

/// Takes an object's fields one by one; what is left over is an error.
class fields {
 public:
  fields(const std::string& file, std::string path, const json::value& from)
      : file_{&file}, path_{std::move(path)} {
    if (!from.is_object()) fail("", "is no object");
    from_ = from.as_object();
  }

  std::int64_t number(const char* key, std::int64_t least) {
    const auto value = take(key);
    if (!value.is_int64()) fail(key, "is no integer");
    if (value.as_int64() < least) {
      fail(key, "is below " + std::to_string(least));
    }
    return value.as_int64();
  }
  std::string text(const char* key) {
    const auto value = take(key);
    if (!value.is_string()) fail(key, "is no string");
    return std::string{value.as_string()};
  }
  json::value take(const char* key) {
    const auto at = from_.find(key);
    if (at == from_.end()) fail(key, "is missing");
    json::value value = at->value();
    from_.erase(at);
    return value;
  }
  void end() const {
    if (!from_.empty()) fail(std::string{from_.begin()->key()}, "is unknown");
  }
  std::string at(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  [[noreturn]] void fail(const std::string& key,
                         const std::string& what) const {
    throw input_error(*file_, at(key) + " " + what);
  }

 private:
  const std::string* file_;
  std::string path_;
  json::object from_;
};

divergence parse_divergence(const std::string& file, const std::string& path,
                            const json::value& from) {
  fields of{file, path, from};
  divergence at;
  at.position = of.number("position", -1);
  at.row = of.number("row", -1);
  at.differing_bytes = of.number("differing_bytes", -1);
  at.total_bytes = of.number("total_bytes", -1);
  at.where = of.text("where");
  of.end();
  return at;
}

verdict parse_verdict(const std::string& file, const std::string& path,
                      const json::value& from) {
  fields of{file, path, from};
  verdict made;
  const auto state = verdict_state_of(of.text("state"));
  if (!state) of.fail("state", "is no verdict");
  made.state = *state;
  made.reason = of.text("reason");
  if (const auto first = of.take("first"); !first.is_null()) {
    made.first = parse_divergence(file, of.at("first"), first);
  }
  made.rows = of.number("rows", 0);
  made.kv_rows = of.number("kv_rows", 0);
  made.positions = of.number("positions", 0);
  made.when_ms = of.number("when_ms", 0);
  (void)of.text("source");
  made.evidence = of.text("evidence");
  of.end();
  // An `equal` that compared nothing is none.
  if (made.equal() && (made.rows == 0 || made.positions == 0)) {
    of.fail("state", "is equal over no rows");
  }
  made.source = verdict_source::stored;
  return made;
}

}  // namespace

std::string json_of(const verdict& of) {
  return json::serialize(object_of(of));
}

std::string json_of(const verdict_table& of) {
  json::object widths;
  for (const auto& [width, each] : of.widths) {
    widths[std::to_string(width)] = object_of(each);
  }
  return json::serialize(json::object{{"alone", object_of(of.alone)},
                                      {"batch", object_of(of.batch)},
                                      {"widths", std::move(widths)}});
}

verdict_table parse_verdict_table(const std::string& file,
                                  std::string_view text) {
  boost::system::error_code error;
  const auto parsed = json::parse(text, error);
  if (error) throw input_error(file, "is no JSON: " + error.message());
  fields of{file, "", parsed};
  verdict_table made;
  made.alone = parse_verdict(file, "alone", of.take("alone"));
  made.batch = parse_verdict(file, "batch", of.take("batch"));
  const auto widths = of.take("widths");
  of.end();
  if (!widths.is_object()) of.fail("widths", "is no object");
  for (const auto& [key, value] : widths.as_object()) {
    int width = 0;
    const auto* last = key.data() + key.size();
    const auto read = std::from_chars(key.data(), last, width);
    const std::string path = "widths." + std::string{key};
    if (read.ec != std::errc{} || read.ptr != last || width < 2 ||
        width > max_round_width) {
      throw input_error(file, path + " is no width");
    }
    made.widths[width] = parse_verdict(file, path, value);
  }
  return made;
}

}  // namespace vouch::engine
