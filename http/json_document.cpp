#include "http/json_document.hpp"

#include <cstddef>
#include <set>

#include <boost/json.hpp>

#include "http/error.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace dom = simdjson::dom;

namespace {

api_error bad_json(const std::string& detail) {
  return {400, "the body is not acceptable JSON: " + detail, {}, "bad_json"};
}

api_error too_deep(int max_depth) {
  return bad_json("it is nested deeper than " + std::to_string(max_depth) +
                  " levels");
}

std::string explain(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY:
      return "it is empty; a JSON object is expected";
    case simdjson::UTF8_ERROR:
      return "it is not valid UTF-8";
    case simdjson::NUMBER_ERROR:
      return "a number is malformed or out of range";
    case simdjson::STRING_ERROR:
      return "a string has a bad escape or a lone surrogate";
    case simdjson::UNESCAPED_CHARS:
      return "a string has an unescaped control character";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "a word that is not true, false or null (NaN is not JSON)";
    default:
      return "its structure is broken (a missing or misplaced brace, bracket, "
             "comma, colon or quote, or something after its end)";
  }
}

// Depth, duplicate keys and surrogates that slipped through as UTF-8.
void check(dom::element element, int depth, int max_depth) {
  if (element.is_string()) {
    const std::string_view text = element.get_string().value_unsafe();
    if (!simdjson::validate_utf8(text.data(), text.size()))
      throw bad_json(explain(simdjson::STRING_ERROR));
    return;
  }
  if (element.is_array()) {
    if (depth >= max_depth) throw too_deep(max_depth);
    const dom::array list = element.get_array().value_unsafe();
    for (const auto child : list) check(child, depth + 1, max_depth);
  } else if (element.is_object()) {
    if (depth >= max_depth) throw too_deep(max_depth);
    const dom::object fields = element.get_object().value_unsafe();
    std::set<std::string_view> seen;
    for (const auto field : fields) {
      if (!simdjson::validate_utf8(field.key.data(), field.key.size()))
        throw bad_json(explain(simdjson::STRING_ERROR));
      if (!seen.insert(field.key).second) {
        const auto key = shortened(field.key, 60);
        throw api_error{400, "the key " + json_quoted(key) + " occurs twice",
                        key, "duplicate_key"};
      }
      check(field.value, depth + 1, max_depth);
    }
  }
}

}  // namespace

json_document::json_document(std::string_view body, int max_depth) {
  // One level more than allowed, so that the exact check is ours.
  if (parser_.allocate(body.size() + 1,
                       static_cast<std::size_t>(max_depth) + 2))
    throw api_error{500, "no memory for the body", {}, "internal_error"};
  const auto code = parser_.parse(body.data(), body.size()).get(root_);
  if (code == simdjson::DEPTH_ERROR) throw too_deep(max_depth);
  if (code == simdjson::MEMALLOC || code == simdjson::CAPACITY)
    throw api_error{413, "the body is too large", {}, "body_too_large"};
  if (code) throw bad_json(explain(code));
  check(root_, 0, max_depth);
}

dom::object json_document::object() const {
  dom::object value;
  if (root_.get(value)) {
    throw bad_json("expected an object, given " + describe(root_));
  }
  return value;
}

std::string type_name(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
      return "a number";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "a boolean";
    case dom::element_type::NULL_VALUE:
      break;
  }
  return "null";
}

std::string describe(dom::element element) {
  if (element.is_array() || element.is_object()) return type_name(element);
  if (element.is_string()) {
    return "the string " +
           json_quoted(shortened(element.get_string().value_unsafe(), 40));
  }
  return simdjson::minify(element);
}

std::string json_quoted(std::string_view text) {
  return boost::json::serialize(
      boost::json::string_view{text.data(), text.size()});
}

}  // namespace vouch::http
