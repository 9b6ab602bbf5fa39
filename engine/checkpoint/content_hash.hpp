#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/checkpoint/mapped_file.hpp"

namespace vouch::engine {

/// A 64-bit FNV-1a hash over what identifies a model's files. Not a defence
/// against somebody who wants two files to collide.
class content_hash {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);
  void add(std::uint64_t number);
  /// The file's size, its first `whole` bytes, and samples of the rest spread
  /// evenly up to its end.
  void add_file(const mapped_file& file, std::size_t whole);

  /// 16 hex digits.
  std::string text() const;

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace vouch::engine
