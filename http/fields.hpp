#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "engine/types.hpp"

namespace vouch::http {

/// A closed range, or one that is open below.
struct number_range {
  double low = 0;
  double high = 0;
  bool open_low = false;
};

/// The fields of one JSON object, read by type and range. A field that is
/// absent or null gives nothing; one that is wrong throws api_error (400) that
/// names it, what is expected and what was given.
class object_fields {
 public:
  /// `prefix` goes before names in errors ("stream_options.").
  explicit object_fields(simdjson::dom::object object, std::string prefix = {});

  std::optional<simdjson::dom::element> any(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low,
                                      std::int64_t high);
  std::optional<double> number(std::string_view name, number_range range);
  std::optional<std::string> string(std::string_view name,
                                    std::size_t max_bytes = SIZE_MAX);
  std::optional<simdjson::dom::object> object(std::string_view name);
  std::optional<simdjson::dom::array> array(std::string_view name);

  /// A field that is known and has no effect.
  void accept(std::string_view name) { known_.insert(name); }
  /// With `strict`, a field nobody asked for is an error.
  void reject_unknown(bool strict) const;

  /// The name as errors spell it.
  std::string path(std::string_view name) const;

 private:
  simdjson::dom::object object_;
  std::string prefix_;
  std::set<std::string_view> known_;
};

/// An array of token ids, each in [0, vocab_size). `path` names it in errors.
std::vector<engine::token_id> token_ids(simdjson::dom::array array,
                                        const std::string& path,
                                        std::int64_t vocab_size);

/// "expected X, given Y" about `path`. Throws api_error always.
[[noreturn]] void expected(const std::string& path, const std::string& what,
                           simdjson::dom::element given);

}  // namespace vouch::http
