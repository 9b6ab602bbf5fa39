#include "engine/executor/kv_arena.hpp"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <system_error>

#include "engine/hash64.hpp"

namespace vouch::engine {

kv_arena::kv_arena(const kernels::kv_layout& layout, std::int32_t layers,
                   std::int32_t blocks)
    : memory_{layout, nullptr, blocks},
      layers_{layers},
      bytes_{layout.block_bytes() * static_cast<std::size_t>(layers) *
             static_cast<std::size_t>(blocks)} {
  void* base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    throw std::system_error{
        errno, std::generic_category(),
        "mapping " + std::to_string(bytes_) + " bytes of KV cache"};
  }
  memory_.base = static_cast<std::byte*>(base);
#ifdef MADV_HUGEPAGE
  // Attention walks through it in pieces of some kilobytes: where the system
  // gives huge pages, their addresses are found sooner.
  ::madvise(base, bytes_, MADV_HUGEPAGE);
#endif
}

kv_arena::~kv_arena() { ::munmap(memory_.base, bytes_); }

void kv_arena::copy(const block_copy& work) {
  const std::size_t size = memory_.layout.block_bytes();
  for (std::int32_t index = 0; index < layers_; ++index) {
    std::byte* layer = memory_.layer(index);
    std::memcpy(layer + static_cast<std::size_t>(work.to) * size,
                layer + static_cast<std::size_t>(work.from) * size, size);
  }
}

std::vector<std::byte> kv_arena::read(const std::vector<block_id>& blocks,
                                      std::int32_t position) const {
  const auto& layout = memory_.layout;
  const std::size_t half = kernels::row_bytes(
      layout.type, std::int64_t{layout.kv_heads} * layout.head_dim);
  std::vector<std::byte> bytes(2 * half * static_cast<std::size_t>(layers_));
  std::byte* out = bytes.data();
  for (std::int32_t index = 0; index < layers_; ++index, out += 2 * half) {
    kernels::kv_read(layout, memory_.layer(index), blocks.data(), position, out,
                     out + half);
  }
  return bytes;
}

std::string kv_arena::check(const kv_range& range) const {
  if (range.from < 0 || range.to < range.from) {
    return "positions " + std::to_string(range.from) + " to " +
           std::to_string(range.to);
  }
  const auto needed = static_cast<std::size_t>(
      (std::int64_t{range.to} + kernels::kv_block_tokens - 1) /
      kernels::kv_block_tokens);
  if (range.blocks.size() < needed) {
    return std::to_string(range.blocks.size()) + " blocks where " +
           std::to_string(needed) + " are needed";
  }
  for (const block_id block : range.blocks) {
    if (block < 0 || block >= memory_.blocks) {
      return "block " + std::to_string(block) + " in a pool of " +
             std::to_string(memory_.blocks);
    }
  }
  return {};
}

std::vector<std::uint64_t> kv_arena::hash(const kv_range& range,
                                          kernels::thread_pool& pool) const {
  std::vector<std::uint64_t> hashes(
      static_cast<std::size_t>(range.to - range.from));
  pool.parallel_for(
      static_cast<std::int64_t>(hashes.size()), [&](std::int64_t i) {
        const auto row =
            read(range.blocks, range.from + static_cast<std::int32_t>(i));
        hashes[static_cast<std::size_t>(i)] = hash64(row);
      });
  return hashes;
}

}  // namespace vouch::engine
