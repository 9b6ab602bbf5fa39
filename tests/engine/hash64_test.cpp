#include "engine/hash64.hpp"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

std::vector<std::byte> some_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + 3);
  }
  return bytes;
}

// Made with libxxhash 0.8.1.
TEST(Hash64, IsXxh64) {
  struct known {
    std::size_t size;
    std::uint64_t seed;
    std::uint64_t value;
  };
  for (const auto& each : std::vector<known>{
           {0, 0, 0xEF46DB3751D8E999U},
           {1, 0, 0x1F25C8D0BC1F4BB6U},
           {3, 0, 0x31D2363F52E564C9U},
           {4, 0, 0x9BB64B7D66EE9FDAU},
           {7, 0, 0x9A7B149959CE60D8U},
           {8, 0, 0xDAB99D95C6F90092U},
           {12, 0, 0xD52E407833AF5133U},
           {31, 0, 0xA2AA5F33CC4A6119U},
           {32, 0, 0x23C3C17EF790FD97U},
           {33, 0, 0x50A7CFC7BA588784U},
           {63, 0, 0x5E3E54B431C7493CU},
           {64, 0, 0x0EB64B3EF6EEB01FU},
           {100, 0, 0xA61F8D4C170FE531U},
           {1000, 0, 0x5F235FA033F1A3FBU},
           {5, 12345, 0xF0941D6DD5FA78A1U},
           {77, 12345, 0xFDDC6EB900038313U},
       }) {
    EXPECT_EQ(hash64(some_bytes(each.size), each.seed), each.value)
        << each.size;
  }
}

TEST(Hash64, EveryBitCounts) {
  auto bytes = some_bytes(77);
  std::set<std::uint64_t> seen{hash64(bytes)};
  for (auto& each : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      each ^= std::byte{1} << bit;
      EXPECT_TRUE(seen.insert(hash64(bytes)).second);
      each ^= std::byte{1} << bit;
    }
  }
}

}  // namespace
}  // namespace vouch::engine
