#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace vouch::test {

/// A safetensors file: the header's length, the header, `data` zero bytes.
inline std::string safetensors_bytes(const std::string& header,
                                     std::size_t data) {
  const std::uint64_t length = header.size();
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, 8);
  return result + header + std::string(data, '\0');
}

}  // namespace vouch::test
