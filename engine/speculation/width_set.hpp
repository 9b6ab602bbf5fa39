#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace vouch::engine {

/// The widest verify block there can be, in rows.
inline constexpr int max_round_width = 64;

/// The verify widths that are vouched for: a set of counts of rows, 2 to
/// max_round_width. Width 1 is a classic decode row and always allowed, so it
/// is never a member.
class width_set {
 public:
  width_set() = default;
  /// Throws std::out_of_range.
  width_set(std::initializer_list<int> widths) {
    for (const int width : widths) insert(width);
  }
  /// 2 ... most; empty below 2.
  static width_set up_to(int most) {
    width_set all;
    for (int width = 2; width <= most; ++width) all.insert(width);
    return all;
  }

  void insert(int width) { bits_ |= bit(width); }
  void erase(int width) { bits_ &= ~bit(width); }
  bool contains(int width) const {
    return width >= 2 && width <= max_round_width && (bits_ & bit(width)) != 0;
  }
  bool empty() const { return bits_ == 0; }

  /// The largest member at or below `width`; 1, classic, where there is none.
  int at_most(std::int64_t width) const {
    if (width < 2) return 1;
    const auto below = width >= max_round_width
                           ? bits_
                           : bits_ & ((std::uint64_t{1} << width) - 1);
    return below == 0 ? 1 : static_cast<int>(std::bit_width(below));
  }
  /// The smallest member above `width`; 0 where there is none.
  int next_above(int width) const {
    if (width >= max_round_width) return 0;
    const auto above = width < 1 ? bits_ : (bits_ >> width) << width;
    return above == 0 ? 0 : std::countr_zero(above) + 1;
  }
  /// Ascending.
  std::vector<int> widths() const {
    std::vector<int> all;
    for (int w = next_above(1); w != 0; w = next_above(w)) all.push_back(w);
    return all;
  }

  friend bool operator==(const width_set&, const width_set&) = default;

 private:
  static std::uint64_t bit(int width) {
    if (width < 2 || width > max_round_width) {
      throw std::out_of_range{"a verify block has 2 to " +
                              std::to_string(max_round_width) + " rows, not " +
                              std::to_string(width)};
    }
    return std::uint64_t{1} << (width - 1);
  }
  /// Bit width - 1.
  std::uint64_t bits_ = 0;
};

}  // namespace vouch::engine
