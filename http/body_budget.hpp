#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace vouch::http {

/// The bytes that the bodies of all running requests may have together, so
/// that many large ones cannot use up the memory. Safe from any thread.
class body_budget {
 public:
  explicit body_budget(std::int64_t bytes) : left_{bytes} {}

  /// Whether that many are left now.
  bool has(std::uint64_t bytes) const {
    return bytes <= static_cast<std::uint64_t>(left_.load());
  }
  /// False, and nothing taken, when fewer are left.
  bool take(std::int64_t bytes) {
    auto left = left_.load();
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    }
    return false;
  }
  void give_back(std::int64_t bytes) { left_ += bytes; }

 private:
  std::atomic<std::int64_t> left_;
};

/// What one request has taken; given back at its end.
class body_share {
 public:
  body_share() = default;
  explicit body_share(body_budget& from) : from_{&from} {}
  ~body_share() {
    if (from_ != nullptr) from_->give_back(bytes_);
  }
  body_share(body_share&& other) noexcept
      : from_{std::exchange(other.from_, nullptr)},
        bytes_{std::exchange(other.bytes_, 0)} {}
  body_share& operator=(body_share&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Takes more; false when the budget has no more.
  bool grow(std::uint64_t bytes) {
    const auto more = static_cast<std::int64_t>(bytes);
    if (!from_->take(more)) return false;
    bytes_ += more;
    return true;
  }

 private:
  body_budget* from_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace vouch::http
