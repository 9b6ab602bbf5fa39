#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::engine {

/// A regular expression of a tokenizer file, run by PCRE2 (UTF, UCP, JIT). The
/// files are written for Oniguruma; what PCRE2 would read differently (class
/// intersections, classes in classes) is refused. Safe to share.
class regex {
 public:
  /// Throws std::invalid_argument that says what is wrong and where.
  explicit regex(const std::string& pattern);

  struct range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// All matches, left to right, not overlapping; empty ones too. The text must
  /// be valid UTF-8. Throws std::runtime_error when the expression runs into
  /// PCRE2's limits.
  std::vector<range> find_all(std::string_view text) const;

 private:
  std::shared_ptr<const void> code_;
};

}  // namespace vouch::engine
