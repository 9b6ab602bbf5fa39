#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/board.hpp"

namespace vouch::runtime {

enum class news_level : std::uint8_t { info, warning, error };

struct news_line {
  news_level level = news_level::info;
  std::string text;
};

/// What an operator should read of a change: drafter, controller and escapes at
/// the start, then verdicts, trips and what is served. Progress is no news.
std::vector<news_line> speculation_news(const actors::speculation_view& before,
                                        const actors::speculation_view& now);

}  // namespace vouch::runtime
