#include "kernels/cpu/weight_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace vouch::kernels {

namespace {

constexpr std::size_t piece_alignment = 64;
constexpr std::size_t huge_page = std::size_t{1} << 21;
/// Address space, not memory: what no piece was cut from is never touched.
constexpr std::size_t region_bytes = std::size_t{64} << 20;

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class region {
 public:
  explicit region(std::size_t bytes) : size_{bytes + huge_page} {
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc{};
#ifdef MADV_HUGEPAGE
    madvise(base_, size_, MADV_HUGEPAGE);
#endif
    const auto address = reinterpret_cast<std::uintptr_t>(base_);
    used_ = round_up(address, huge_page) - address;
  }
  ~region() { munmap(base_, size_); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// A piece, or nullptr when there is no room.
  std::byte* cut(std::size_t bytes) {
    if (bytes > size_ - used_) return nullptr;
    auto* piece = static_cast<std::byte*>(base_) + used_;
    used_ += bytes;
    return piece;
  }

 private:
  std::size_t size_;
  void* base_;
  std::size_t used_;
};

}  // namespace

std::shared_ptr<std::byte> allocate_weights(std::size_t bytes) {
  static std::mutex mutex;
  static std::weak_ptr<region> current;  // guarded by mutex
  const std::size_t size =
      round_up(std::max<std::size_t>(bytes, 1), piece_alignment);
  const std::lock_guard lock{mutex};
  auto from = current.lock();
  std::byte* piece = from ? from->cut(size) : nullptr;
  if (piece == nullptr) {
    from = std::make_shared<region>(std::max(size, region_bytes));
    piece = from->cut(size);
    current = from;
  }
  return {std::move(from), piece};
}

}  // namespace vouch::kernels
