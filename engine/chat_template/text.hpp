#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::engine::jinja {

/// UTF-8 text that remembers which of its bytes the template wrote (trusted)
/// and which came from the request. Every string of the interpreter is one.
class text {
 public:
  /// A stretch of bytes of one origin; neighbours differ in origin.
  struct run {
    std::size_t length;
    bool trusted;
  };

  text() = default;
  text(std::string_view bytes, bool trusted) { append(bytes, trusted); }

  const std::string& bytes() const { return bytes_; }
  const std::vector<run>& runs() const { return runs_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  /// No byte came from the request.
  bool trusted() const;
  /// Whether the byte at `offset` is the template's.
  bool trusted_at(std::size_t offset) const;

  void append(std::string_view bytes, bool is_trusted);
  void append(const text& other);
  /// The bytes [begin, end), with their origin.
  text slice(std::size_t begin, std::size_t end) const;

  /// Markup, in Jinja's sense: `+` escapes what is joined to it.
  bool markup = false;

 private:
  std::string bytes_;
  std::vector<run> runs_;
};

}  // namespace vouch::engine::jinja
