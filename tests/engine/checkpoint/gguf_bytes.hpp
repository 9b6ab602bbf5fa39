#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace vouch::test {

/// Writes GGUF files piece by piece, well-formed or not.
class gguf_bytes {
 public:
  explicit gguf_bytes(std::uint64_t tensors = 0, std::uint64_t pairs = 0,
                      std::uint32_t version = 3) {
    text_ = "GGUF";
    add(version);
    add(tensors);
    add(pairs);
  }

  template <class T>
  gguf_bytes& add(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
    return *this;
  }
  gguf_bytes& string(std::string_view text) {
    add(std::uint64_t{text.size()});
    text_ += text;
    return *this;
  }
  /// A key and its value's type; the value follows by add or string.
  gguf_bytes& key(std::string_view name, std::uint32_t type) {
    return string(name).add(type);
  }
  gguf_bytes& u32(std::string_view name, std::uint32_t value) {
    return key(name, 4).add(value);
  }
  gguf_bytes& f32(std::string_view name, float value) {
    return key(name, 6).add(value);
  }
  gguf_bytes& text(std::string_view name, std::string_view value) {
    return key(name, 8).string(value);
  }
  /// A tensor's entry; `dimensions` innermost first.
  gguf_bytes& tensor(std::string_view name,
                     const std::vector<std::uint64_t>& dimensions,
                     std::uint32_t type, std::uint64_t offset) {
    string(name).add(static_cast<std::uint32_t>(dimensions.size()));
    for (const auto dimension : dimensions) add(dimension);
    return add(type).add(offset);
  }
  /// Zeros up to the next multiple of 32, then `bytes` of data.
  gguf_bytes& data(std::size_t bytes) {
    text_.resize((text_.size() + 31) / 32 * 32 + bytes);
    return *this;
  }

  const std::string& bytes() const { return text_; }
  std::size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace vouch::test
