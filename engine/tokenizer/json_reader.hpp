#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace vouch::engine {

/// A place in a JSON file that knows its path, so that every complaint names
/// file and field: "tokenizer.json: model.merges[3]: ...".
class json_node {
 public:
  json_node(const std::string& file, std::string path,
            simdjson::dom::element value)
      : file_{&file}, path_{std::move(path)}, value_{value} {}

  /// Throws input_error naming this place.
  [[noreturn]] void fail(const std::string& what) const;

  bool is_null() const { return value_.is_null(); }
  bool is_string() const { return value_.is_string(); }
  bool is_array() const { return value_.is_array(); }
  bool is_object() const { return value_.is_object(); }

  /// A member; fails where it is missing or this is no object.
  json_node at(std::string_view key) const;
  /// A member that may be missing or null.
  std::optional<json_node> find(std::string_view key) const;
  /// The elements of an array.
  std::vector<json_node> items() const;

  std::string_view string() const;
  std::int64_t integer() const;
  double number() const;
  bool boolean() const;

  /// Members with a default for missing and null ones.
  bool boolean(std::string_view key, bool otherwise) const;
  std::string string(std::string_view key, std::string_view otherwise) const;

  simdjson::dom::object object() const;
  simdjson::dom::array array() const;
  const std::string& file() const { return *file_; }
  const std::string& path() const { return path_; }

 private:
  const std::string* file_;
  std::string path_;
  simdjson::dom::element value_;
};

/// The text in single quotes, for messages.
std::string in_quotes(std::string_view text);

/// Reads a whole file; throws input_error. `parser` owns what the node shows,
/// `file` its name.
json_node read_json(simdjson::dom::parser& parser, const std::string& file);

}  // namespace vouch::engine
