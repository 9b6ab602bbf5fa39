#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/checkpoint/gguf.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

/// Keys of one file, named without the architecture they start with.
class arch_keys {
 public:
  arch_keys(const gguf_file& file, std::string_view architecture)
      : file_{file}, prefix_{std::string{architecture} + "."} {}

  std::string name(const std::string& key) const { return prefix_ + key; }
  bool has(const std::string& key) const { return file_.has(name(key)); }

  [[noreturn]] void fail(const std::string& key,
                         const std::string& what) const {
    throw input_error{file_.path().string(), "key '" + name(key) + "' " + what};
  }

  /// One integer, or an array in which all are equal (a value per layer).
  std::optional<std::int64_t> integer(const std::string& key) const {
    const auto found = file_.metadata().find(name(key));
    if (found == file_.metadata().end()) return {};
    if (!found->second.is_array) return file_.integer(name(key));
    const auto values = file_.integers(name(key));
    if (values.empty()) fail(key, "is an empty array");
    for (const auto value : values) {
      if (value != values.front()) {
        fail(key, "differs from layer to layer, which is not supported");
      }
    }
    return values.front();
  }

  std::int64_t size(const std::string& key, std::int64_t limit,
                    std::optional<std::int64_t> fallback = {}) const {
    auto value = integer(key);
    if (!value) value = fallback;
    if (!value) fail(key, "is missing");
    if (*value < 1 || *value > limit) {
      fail(key, "is " + std::to_string(*value) + ", not within 1 to " +
                    std::to_string(limit));
    }
    return *value;
  }

  std::optional<double> number(const std::string& key) const {
    return file_.number(name(key));
  }
  std::string string(const std::string& key, const char* fallback) const {
    return std::string{file_.string(name(key)).value_or(fallback)};
  }

 private:
  const gguf_file& file_;
  std::string prefix_;
};

}  // namespace vouch::engine
