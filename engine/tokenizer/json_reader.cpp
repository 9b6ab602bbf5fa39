#include "engine/tokenizer/json_reader.hpp"

#include <utility>

#include "engine/error.hpp"

namespace vouch::engine {

void json_node::fail(const std::string& what) const {
  throw input_error(*file_, (path_.empty() ? "" : path_ + ": ") + what);
}

json_node json_node::at(std::string_view key) const {
  std::string path = path_.empty() ? "" : path_ + ".";
  path += key;
  simdjson::dom::element value;
  if (object().at_key(key).get(value)) {
    json_node{*file_, std::move(path), value_}.fail("is missing");
  }
  return {*file_, std::move(path), value};
}

std::optional<json_node> json_node::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object().at_key(key).get(value) || value.is_null()) return std::nullopt;
  return at(key);
}

std::vector<json_node> json_node::items() const {
  std::vector<json_node> out;
  for (const simdjson::dom::element value : array()) {
    out.emplace_back(*file_, path_ + "[" + std::to_string(out.size()) + "]",
                     value);
  }
  return out;
}

std::string_view json_node::string() const {
  std::string_view out;
  if (value_.get(out)) fail("must be a string");
  return out;
}

std::int64_t json_node::integer() const {
  std::int64_t out = 0;
  if (value_.get(out)) fail("must be an integer");
  return out;
}

double json_node::number() const {
  double out = 0;
  if (value_.get(out)) fail("must be a number");
  return out;
}

bool json_node::boolean() const {
  bool out = false;
  if (value_.get(out)) fail("must be true or false");
  return out;
}

bool json_node::boolean(std::string_view key, bool otherwise) const {
  const auto member = find(key);
  return member ? member->boolean() : otherwise;
}

std::string json_node::string(std::string_view key,
                              std::string_view otherwise) const {
  const auto member = find(key);
  return std::string{member ? member->string() : otherwise};
}

simdjson::dom::object json_node::object() const {
  simdjson::dom::object out;
  if (value_.get(out)) fail("must be an object");
  return out;
}

simdjson::dom::array json_node::array() const {
  simdjson::dom::array out;
  if (value_.get(out)) fail("must be an array");
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out{"'"};
  out += text;
  out += '\'';
  return out;
}

json_node read_json(simdjson::dom::parser& parser, const std::string& file) {
  simdjson::dom::element root;
  if (const auto error = parser.load(file).get(root)) {
    throw input_error(file, std::string{"is not valid JSON: "} +
                                simdjson::error_message(error));
  }
  return {file, "", root};
}

}  // namespace vouch::engine
