#include "engine/checkpoint/json_file.hpp"

#include <simdjson.h>

#include "engine/checkpoint/mapped_file.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace dom = simdjson::dom;

/// The parser owns the memory that every element of the file points into.
struct json_object::document {
  std::shared_ptr<dom::parser> parser;
  dom::object object;

  std::optional<dom::element> find(std::string_view field) const {
    dom::element element;
    if (object.at_key(field).get(element) != simdjson::SUCCESS ||
        element.is_null()) {
      return {};
    }
    return element;
  }
};

template <class Value>
json_object json_object::nested(const std::string& name,
                                const Value& value) const {
  json_object result{*this};
  result.prefix_ = prefix_ + name + ".";
  result.document_ =
      std::make_shared<const document>(document{document_->parser, value});
  return result;
}

json_object json_object::load(const std::filesystem::path& path) {
  const mapped_file file{path};
  const auto bytes = file.bytes();
  return parse(path.string(),
               {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

json_object json_object::parse(const std::string& file, std::string_view text) {
  auto parser = std::make_shared<dom::parser>();
  dom::element root;
  const simdjson::padded_string padded{text};
  if (const auto error = parser->parse(padded).get(root)) {
    throw input_error{
        file, std::string{"not valid JSON: "} + simdjson::error_message(error)};
  }
  dom::object object;
  if (root.get(object) != simdjson::SUCCESS) {
    throw input_error{file, "the top level is not an object"};
  }
  json_object result;
  result.file_ = file;
  result.document_ =
      std::make_shared<const document>(document{std::move(parser), object});
  return result;
}

void json_object::fail(std::string_view field, const std::string& what) const {
  throw input_error{file_,
                    "field '" + prefix_ + std::string{field} + "' " + what};
}

bool json_object::has(std::string_view field) const {
  return document_->find(field).has_value();
}

bool json_object::is_null(std::string_view field) const {
  dom::element element;
  return document_->object.at_key(field).get(element) == simdjson::SUCCESS &&
         element.is_null();
}

bool json_object::is_string(std::string_view field) const {
  const auto element = document_->find(field);
  return element && element->is_string();
}

bool json_object::is_list(std::string_view field) const {
  const auto element = document_->find(field);
  return element && element->is_array();
}

std::optional<std::int64_t> json_object::integer(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  std::int64_t value = 0;
  if (element->get(value) != simdjson::SUCCESS) {
    fail(field, "is not an integer");
  }
  return value;
}

std::optional<double> json_object::number(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  double value = 0;
  if (element->get(value) != simdjson::SUCCESS) fail(field, "is not a number");
  return value;
}

std::optional<bool> json_object::boolean(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  bool value = false;
  if (element->get(value) != simdjson::SUCCESS) {
    fail(field, "is not true or false");
  }
  return value;
}

std::optional<std::string> json_object::string(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  std::string_view value;
  if (element->get(value) != simdjson::SUCCESS) fail(field, "is not a string");
  return std::string{value};
}

std::optional<json_object> json_object::object(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  dom::object value;
  if (element->get(value) != simdjson::SUCCESS) {
    fail(field, "is not an object");
  }
  return nested(std::string{field}, value);
}

std::vector<json_object> json_object::objects(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  dom::array list;
  if (element->get(list) != simdjson::SUCCESS) fail(field, "is not a list");
  std::vector<json_object> result;
  for (const auto entry : list) {
    dom::object value;
    if (entry.get(value) != simdjson::SUCCESS) {
      fail(field, "holds something that is not an object");
    }
    auto name = std::string{field};
    name.append("[").append(std::to_string(result.size())).append("]");
    result.push_back(nested(name, value));
  }
  return result;
}

std::vector<std::string> json_object::strings(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  dom::array list;
  if (element->get(list) != simdjson::SUCCESS) fail(field, "is not a list");
  std::vector<std::string> result;
  for (const auto entry : list) {
    std::string_view value;
    if (entry.get(value) != simdjson::SUCCESS) {
      fail(field, "holds something that is not a string");
    }
    result.emplace_back(value);
  }
  return result;
}

std::vector<std::int64_t> json_object::integers(std::string_view field) const {
  const auto element = document_->find(field);
  if (!element) return {};
  dom::array list;
  if (element->get(list) != simdjson::SUCCESS) return {*integer(field)};
  std::vector<std::int64_t> result;
  for (const auto entry : list) {
    std::int64_t value = 0;
    if (entry.get(value) != simdjson::SUCCESS) {
      fail(field, "holds something that is not an integer");
    }
    result.push_back(value);
  }
  return result;
}

std::vector<std::pair<std::string, json_object>> json_object::object_members()
    const {
  std::vector<std::pair<std::string, json_object>> result;
  for (const auto field : document_->object) {
    std::string name{field.key};
    dom::object value;
    if (field.value.get(value) != simdjson::SUCCESS) {
      fail(name, "is not an object");
    }
    auto object = nested(name, value);
    result.emplace_back(std::move(name), std::move(object));
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> json_object::string_members()
    const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto field : document_->object) {
    std::string_view value;
    if (field.value.get(value) != simdjson::SUCCESS) {
      fail(field.key, "is not a string");
    }
    result.emplace_back(field.key, value);
  }
  return result;
}

}  // namespace vouch::engine
