#include "http/fields.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "http/error.hpp"
#include "http/json_document.hpp"
#include "http/text.hpp"

namespace vouch::http {

namespace dom = simdjson::dom;

object_fields::object_fields(dom::object object, std::string prefix)
    : object_{object}, prefix_{std::move(prefix)} {}

std::string object_fields::path(std::string_view name) const {
  return prefix_ + std::string{name};
}

void expected(const std::string& path, const std::string& what,
              dom::element given) {
  throw bad_field(path, "expected " + what + ", given " + describe(given));
}

std::optional<dom::element> object_fields::any(std::string_view name) {
  known_.insert(name);
  dom::element value;
  if (object_.at_key(name).get(value) || value.is_null()) return {};
  return value;
}

std::optional<bool> object_fields::boolean(std::string_view name) {
  const auto value = any(name);
  if (!value) return {};
  bool result = false;
  if (value->get(result)) expected(path(name), "true or false", *value);
  return result;
}

std::optional<std::int64_t> object_fields::integer(std::string_view name,
                                                   std::int64_t low,
                                                   std::int64_t high) {
  const auto value = any(name);
  if (!value) return {};
  const auto what = [&]() -> std::string {
    const bool no_high = high == std::numeric_limits<std::int64_t>::max();
    if (low == std::numeric_limits<std::int64_t>::min())
      return "a 64-bit integer";
    if (no_high) return fmt::format("an integer of at least {}", low);
    return fmt::format("an integer from {} to {}", low, high);
  };
  std::int64_t result = 0;
  if (!value->is_int64() || value->get(result) || result < low || result > high)
    expected(path(name), what(), *value);
  return result;
}

std::optional<double> object_fields::number(std::string_view name,
                                            number_range range) {
  const auto value = any(name);
  if (!value) return {};
  double result = 0;
  const bool inside = value->is_number() && !value->get(result) &&
                      std::isfinite(result) && result <= range.high &&
                      (range.open_low ? static_cast<float>(result) > range.low
                                      : result >= range.low);
  if (!inside) {
    expected(path(name),
             fmt::format("a number in {}{}, {}]", range.open_low ? "(" : "[",
                         range.low, range.high),
             *value);
  }
  return result;
}

std::optional<std::string> object_fields::string(std::string_view name,
                                                 std::size_t max_bytes) {
  const auto value = any(name);
  if (!value) return {};
  std::string_view text;
  if (value->get(text)) expected(path(name), "a string", *value);
  if (text.size() > max_bytes) {
    throw bad_field(path(name),
                    fmt::format("expected at most {} bytes, given {}",
                                max_bytes, text.size()));
  }
  return std::string{text};
}

std::optional<dom::object> object_fields::object(std::string_view name) {
  const auto value = any(name);
  if (!value) return {};
  dom::object result;
  if (value->get(result)) expected(path(name), "an object", *value);
  return result;
}

std::optional<dom::array> object_fields::array(std::string_view name) {
  const auto value = any(name);
  if (!value) return {};
  dom::array result;
  if (value->get(result)) expected(path(name), "an array", *value);
  return result;
}

void object_fields::reject_unknown(bool strict) const {
  if (!strict) return;
  for (const auto field : object_) {
    if (known_.contains(field.key)) continue;
    const auto name = path(shortened(field.key, 60));
    throw api_error{400, name + ": unknown field (the server is strict)", name,
                    "unknown_field"};
  }
}

std::vector<engine::token_id> token_ids(dom::array array,
                                        const std::string& path,
                                        std::int64_t vocab_size) {
  std::vector<engine::token_id> ids;
  ids.reserve(array.size());
  for (const auto element : array) {
    std::int64_t id = -1;
    if (!element.is_int64() || element.get(id) || id < 0 || id >= vocab_size) {
      expected(fmt::format("{}[{}]", path, ids.size()),
               fmt::format("a token id from 0 to {}", vocab_size - 1), element);
    }
    ids.push_back(static_cast<engine::token_id>(id));
  }
  return ids;
}

}  // namespace vouch::http
