#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vouch::engine {

/// An object of a JSON file (config.json and its siblings) with typed access
/// to its fields. A null counts as absent. A field of another kind throws
/// input_error naming file and field ("config.json: field
/// 'rope_parameters.factor' is not a number").
class json_object {
 public:
  /// Reads the file whole; its top level must be an object.
  static json_object load(const std::filesystem::path& path);
  /// The same for text at hand; `file` names it in errors.
  static json_object parse(const std::string& file, std::string_view text);

  bool has(std::string_view field) const;
  /// The field is there and null, where that says more than its absence.
  bool is_null(std::string_view field) const;
  std::optional<std::int64_t> integer(std::string_view field) const;
  std::optional<double> number(std::string_view field) const;
  std::optional<bool> boolean(std::string_view field) const;
  std::optional<std::string> string(std::string_view field) const;
  std::optional<json_object> object(std::string_view field) const;
  /// A list of objects; empty when absent.
  std::vector<json_object> objects(std::string_view field) const;
  /// A list of strings; empty when absent.
  std::vector<std::string> strings(std::string_view field) const;
  /// One integer or a list of them; empty when absent.
  std::vector<std::int64_t> integers(std::string_view field) const;
  bool is_string(std::string_view field) const;
  bool is_list(std::string_view field) const;

  /// Every field in file order, all of them objects (or strings). A key that
  /// occurs twice occurs twice here.
  std::vector<std::pair<std::string, json_object>> object_members() const;
  std::vector<std::pair<std::string, std::string>> string_members() const;

  /// Throws input_error about one field.
  [[noreturn]] void fail(std::string_view field, const std::string& what) const;
  const std::string& file() const { return file_; }

 private:
  struct document;
  json_object() = default;
  /// A view of an object inside this one.
  template <class Value>
  json_object nested(const std::string& name, const Value& value) const;

  std::string file_;
  /// "rope_parameters." in a nested object, for errors.
  std::string prefix_;
  std::shared_ptr<const document> document_;
};

}  // namespace vouch::engine
