#include "engine/text/stop_matcher.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

TEST(StopMatcher, HoldsBackAndFinds) {
  stop_matcher stops{{"own fox"}};
  EXPECT_FALSE(stops.push("The quick br"));
  EXPECT_EQ(stops.held(), 0u);
  EXPECT_FALSE(stops.push("own"));
  EXPECT_EQ(stops.held(), 3u);
  EXPECT_FALSE(stops.push(" f"));
  EXPECT_EQ(stops.held(), 5u);
  const auto match = stops.push("ox jumps");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->begin, 12u);
  EXPECT_EQ(match->end, 19u);
  EXPECT_EQ(stops.held(), 0u);
  EXPECT_EQ(stops.push("own fox")->end, 19u);
}

TEST(StopMatcher, WithoutStopStringsOnlyCounts) {
  stop_matcher none;
  stop_matcher empty{{"", ""}};
  EXPECT_FALSE(none.active());
  EXPECT_FALSE(empty.active());
  EXPECT_FALSE(none.push("abc"));
  EXPECT_EQ(none.size(), 3u);
  EXPECT_EQ(none.held(), 0u);
}

TEST(StopMatcher, CopiesGoTheirOwnWays) {
  stop_matcher first{{"ab"}};
  EXPECT_FALSE(first.push("a"));
  stop_matcher second = first;
  EXPECT_TRUE(first.push("b"));
  EXPECT_FALSE(second.push("x"));
  EXPECT_EQ(second.held(), 0u);
}

/// The definition, over the whole text.
struct oracle {
  std::vector<std::string> stops;

  std::optional<stop_matcher::match> find(std::string_view text) const {
    std::optional<stop_matcher::match> best;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      if (stops[i].empty()) continue;
      const std::size_t at = text.find(stops[i]);
      if (at == std::string_view::npos) continue;
      const stop_matcher::match m{at, at + stops[i].size(), i};
      if (!best || m.end < best->end ||
          (m.end == best->end && m.begin < best->begin)) {
        best = m;
      }
    }
    return best;
  }

  std::size_t held(std::string_view text) const {
    for (std::size_t n = text.size(); n > 0; --n) {
      const std::string_view suffix = text.substr(text.size() - n);
      for (const std::string& stop : stops) {
        if (n < stop.size() && stop.compare(0, n, suffix) == 0) return n;
      }
    }
    return 0;
  }
};

TEST(StopMatcher, AgreesWithTheDefinition) {
  std::mt19937 rng{2};
  const auto random_text = [&](unsigned most) {
    std::string out;
    for (unsigned n = rng() % (most + 1); n > 0; --n) {
      out += static_cast<char>('a' + rng() % 2);
    }
    return out;
  };
  for (int round = 0; round < 20000; ++round) {
    oracle truth;
    for (unsigned n = 1 + rng() % 3; n > 0; --n) {
      truth.stops.push_back(random_text(7));
    }
    stop_matcher stops{truth.stops};
    std::string text;
    for (int step = 0; step < 12; ++step) {
      const std::string more = random_text(3);
      text += more;
      const auto got = stops.push(more);
      const auto want = truth.find(text);
      ASSERT_EQ(got.has_value(), want.has_value());
      if (got) {
        ASSERT_EQ(got->begin, want->begin);
        ASSERT_EQ(got->end, want->end);
        ASSERT_EQ(got->index, want->index);
        break;
      }
      ASSERT_EQ(stops.size(), text.size());
      ASSERT_EQ(stops.held(), truth.held(text));
    }
  }
}

}  // namespace
}  // namespace vouch::engine
