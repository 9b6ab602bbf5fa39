#pragma once

#include <string>
#include <string_view>

#include <simdjson.h>

namespace vouch::http {

/// A request's body, parsed and checked: valid UTF-8, no duplicate keys, no
/// deeper than allowed, nothing after it, numbers in range.
class json_document {
 public:
  /// Throws api_error (400).
  json_document(std::string_view body, int max_depth);
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;

  /// The body must be an object. Throws api_error (400).
  simdjson::dom::object object() const;

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

/// "a string", "an array": what an element is, for messages.
std::string type_name(simdjson::dom::element element);

/// What was given, for messages: the value of a scalar, else its type.
std::string describe(simdjson::dom::element element);

/// `text` as a JSON string with its quotes.
std::string json_quoted(std::string_view text);

}  // namespace vouch::http
