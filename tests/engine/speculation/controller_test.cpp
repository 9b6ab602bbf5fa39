#include "engine/speculation/controller.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/engine/speculation/simulation.hpp"

namespace vouch::engine {
namespace {

using testing::quality;
using testing::run_controlled;
using testing::run_fixed;
using testing::scene;
using testing::share_of_best_fixed;
using cost = std::function<double(std::int64_t, std::int64_t)>;

/// Milliseconds by rows: what verifying costs on different machines.
struct named_cost {
  const char* name;
  cost seconds;
};
std::vector<named_cost> costs() {
  return {
      {"cheap rows", [](auto n, auto) { return 4e-3 + 0.15e-3 * (n - 1); }},
      {"dear rows", [](auto n, auto) { return 4e-3 + 2.2e-3 * (n - 1); }},
      {"tiles of 4", [](auto n, auto) { return 3e-3 * ((n + 3) / 4) + 1e-3; }},
      // Two cores, a small model: 1 to 4 rows nearly alike, then by the row.
      {"cpu",
       [](auto n, auto) {
         return 4e-3 + 0.1e-3 * std::min<double>(n - 1, 3) +
                0.75e-3 * std::max<double>(n - 4, 0);
       }},
  };
}

std::function<quality(int, std::int64_t)> same(std::vector<double> rates,
                                               double proposed = 1.0) {
  return [rates, proposed](int, std::int64_t) {
    return quality{[rates](int index) {
                     return rates[std::min(static_cast<std::size_t>(index),
                                           rates.size() - 1)];
                   },
                   proposed, 0};
  };
}

const auto draft_model = [](std::int64_t sequences, std::int64_t) {
  return 0.8e-3 + 0.1e-3 * static_cast<double>(sequences);
};

TEST(WidthController, IsNearTheBestFixedWidth) {
  const std::vector<std::vector<double>> streams{
      {0.95}, {0.8}, {0.6}, {0.35}, {0.1}, {0.9, 0.7, 0.5, 0.3}, {0.3, 0.95}};
  for (const auto& c : costs()) {
    for (const auto& rates : streams) {
      for (const int count : {1, 4}) {
        for (const bool free : {true, false}) {
          scene s;
          s.streams = count;
          s.at = same(rates);
          s.step = c.seconds;
          if (!free) s.drafting = draft_model;
          double least = 0.0;
          EXPECT_GE(share_of_best_fixed(s, &least), 0.95)
              << c.name << ", first rate " << rates[0] << " of " << rates.size()
              << ", streams " << count << ", free " << free;
        }
      }
    }
  }
}

TEST(WidthController, IsNearlyClassicWhereDraftsAreHopeless) {
  for (const auto& c : costs()) {
    for (const int count : {1, 8, 32}) {
      for (const bool free : {true, false}) {
        for (const auto kind : {drafter_kind::lookup, drafter_kind::dflash}) {
          scene s;
          s.streams = count;
          s.length = 400;
          s.at = same({0.0});
          s.step = c.seconds;
          s.kind = kind;
          if (!free) s.drafting = draft_model;
          EXPECT_GE(run_controlled(s).rate() / run_fixed(s, 1).rate(), 0.98)
              << c.name << ", streams " << count << ", free " << free
              << ", kind " << name_of(kind);
        }
      }
    }
  }
}

TEST(WidthController, NeverCostsMuchOnProse) {
  // Prompt lookup on prose: few proposals, half of the first drafts right.
  for (const auto& c : costs()) {
    for (const int count : {1, 8, 32}) {
      for (const double first : {0.2, 0.4, 0.56}) {
        scene s;
        s.streams = count;
        s.length = 400;
        s.at = same({first, 0.6}, 0.15);
        s.step = c.seconds;
        s.kind = drafter_kind::lookup;
        EXPECT_GE(run_controlled(s).rate() / run_fixed(s, 1).rate(), 0.98)
            << c.name << ", streams " << count << ", first " << first;
      }
    }
  }
}

TEST(WidthController, NarrowsWithManyStreams) {
  // Memory bound up to 8 rows, then by the row.
  const auto step = [](std::int64_t rows, std::int64_t) {
    return 5e-3 + 0.6e-3 * static_cast<double>(std::max<std::int64_t>(rows, 8));
  };
  double before = 100.0;
  for (const int count : {1, 4, 32}) {
    scene s;
    s.streams = count;
    s.length = 800;
    s.at = same({0.7});
    s.step = step;
    const auto run = run_controlled(s);
    EXPECT_GE(share_of_best_fixed(s), 0.95) << count;
    EXPECT_LT(run.mean_width, before - 0.3) << count;
    before = run.mean_width;
  }
  // And stops where a row costs what a token brings.
  scene s;
  s.streams = 32;
  s.length = 400;
  s.at = same({0.7});
  s.step = [](std::int64_t rows, std::int64_t) {
    return 1e-4 * static_cast<double>(rows);
  };
  EXPECT_LT(run_controlled(s).mean_width, 1.05);
}

/// 100 tokens of prose, 100 of copying, and so on.
quality alternating(std::int64_t position, bool lookup) {
  const bool copy = position / 100 % 2 == 1;
  if (!lookup) return {[copy](int) { return copy ? 0.95 : 0.05; }, 1.0, 0};
  if (copy) return {[](int) { return 0.97; }, 0.95, 3};
  return {[](int index) { return index == 0 ? 0.5 : 0.4; }, 0.15, 0};
}

TEST(WidthController, FollowsAStreamThatAlternates) {
  for (const auto& c : costs()) {
    for (const int count : {1, 2}) {
      for (const bool lookup : {true, false}) {
        scene s;
        s.streams = count;
        s.length = 4000;
        s.kind = lookup ? drafter_kind::lookup : drafter_kind::model;
        s.at = [lookup](int, std::int64_t p) { return alternating(p, lookup); };
        s.step = c.seconds;
        if (!lookup) s.drafting = draft_model;
        EXPECT_GE(share_of_best_fixed(s), 0.95)
            << c.name << ", streams " << count << ", lookup " << lookup;
      }
    }
  }
}

TEST(WidthController, FindsAStreamAgainThatTurnsToCopying) {
  // Long hopeless, then copying; the drafter costs a fifth of a step.
  scene s;
  s.length = 6000;
  s.at = [](int, std::int64_t p) {
    return quality{[p](int) { return p < 2000 ? 0.0 : 0.95; }, 1.0, 0};
  };
  s.step = costs()[0].seconds;
  s.drafting = draft_model;
  const auto run = run_controlled(s);
  auto hopeless = s;
  hopeless.length = 2000;
  auto copying = s;
  copying.length = 4000;
  copying.at = same({0.95});
  const double ideal =
      run_fixed(hopeless, 1).seconds + run_fixed(copying, 8).seconds;
  EXPECT_LT(run.seconds, 1.12 * ideal);
}

TEST(WidthController, GivesRowsToTheStreamsThatUseThem) {
  scene s;
  s.streams = 8;
  s.length = 1000;
  s.at = [](int stream, std::int64_t) {
    return quality{[stream](int) { return stream == 3 ? 0.95 : 0.02; }, 1.0, 0};
  };
  s.step = costs()[0].seconds;
  const auto run = run_controlled(s);
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == 3) {
      EXPECT_GT(run.stream_width[i], 3.0);
    } else {
      EXPECT_LT(run.stream_width[i], 1.2);
    }
  }
}

/// Choices before anything was seen are by the table alone, so a search over
/// all widths can tell how good they are.
TEST(WidthController, IsNearASearchOverAllWidths) {
  for (const auto& c : costs()) {
    for (const auto& vouched :
         {width_set::up_to(6), width_set{2, 4}, width_set{6}}) {
      controller_options options;
      options.prior = find_prior(drafter_kind::lookup, "cpu", "q4_1");
      options.step_seconds = c.seconds;
      options.least_gain = 0.0;
      width_controller controller{options};
      std::vector<width_request> requests;
      for (int i = 0; i < 4; ++i) {
        requests.push_back({static_cast<sequence_id>(i), 6, 5, i});
      }
      const step_load load{3, 1, 1};
      const auto rate_of = [&](const std::vector<int>& widths) {
        double tokens = 1.0;
        std::int64_t rows = 0;
        for (int i = 0; i < 4; ++i) {
          double all = 1.0;
          tokens += 1.0;
          for (int k = 0; k + 1 < widths[static_cast<std::size_t>(i)]; ++k) {
            all *= controller.acceptance(static_cast<sequence_id>(i), i, k);
            tokens += all;
          }
          rows += widths[static_cast<std::size_t>(i)];
        }
        return tokens / c.seconds(load.rows + rows, load.logits_rows + rows);
      };
      std::vector<int> legal = vouched.widths();
      legal.push_back(1);
      double best = 0.0;
      for (const int a : legal) {
        for (const int b : legal) {
          for (const int d : legal) {
            for (const int e : legal) {
              best = std::max(best, rate_of({a, b, d, e}));
            }
          }
        }
      }
      std::vector<int> chosen;
      double tokens = 1.0;
      for (const auto& choice : controller.choose(requests, vouched, load)) {
        chosen.push_back(choice.width);
        tokens += choice.tokens;
        EXPECT_TRUE(choice.width == 1 || vouched.contains(choice.width));
        EXPECT_EQ(choice.source, width_source::prior);
      }
      EXPECT_GE(rate_of(chosen), 0.97 * best) << c.name;
      std::int64_t rows = 0;
      for (const int width : chosen) rows += width;
      EXPECT_NEAR(tokens / c.seconds(load.rows + rows, load.logits_rows + rows),
                  rate_of(chosen), 1e-9);
    }
  }
}

controller_options simple_options() {
  controller_options options;
  options.prior = find_prior(drafter_kind::lookup, "cpu", "q4_1");
  options.step_seconds = costs()[0].seconds;
  return options;
}

TEST(WidthController, KeepsToWhatIsPossible) {
  width_controller controller{simple_options()};
  const auto one = [&](int most, std::optional<int> drafted,
                       const width_set& vouched) {
    const std::vector<width_request> requests{{1, most, drafted, 3}};
    return controller.choose(requests, vouched).front();
  };
  EXPECT_EQ(one(8, 7, width_set::up_to(8)).width, 8);
  EXPECT_EQ(one(8, 2, width_set::up_to(8)).width, 3);
  EXPECT_EQ(one(5, 7, width_set::up_to(8)).width, 5);
  EXPECT_EQ(one(8, 7, {2, 4}).width, 4);
  EXPECT_EQ(one(8, 2, {2, 4}).width, 2);
  for (const auto& none : {one(8, 0, width_set::up_to(8)), one(8, 7, {}),
                           one(1, 7, width_set::up_to(8))}) {
    EXPECT_EQ(none.width, 1);
    EXPECT_EQ(none.source, width_source::none);
    EXPECT_EQ(none.tokens, 1.0);
  }
  EXPECT_TRUE(controller.choose({}, width_set::up_to(8)).empty());
  // A cost model that knows nothing: classic.
  auto options = simple_options();
  options.step_seconds = [](std::int64_t, std::int64_t) { return 0.0; };
  width_controller blind{options};
  const std::vector<width_request> requests{{1, 8, 7, 3}};
  EXPECT_EQ(blind.choose(requests, width_set::up_to(8))[0].width, 1);
  EXPECT_THROW(width_controller{controller_options{}}, std::invalid_argument);
}

TEST(WidthController, SaysWhatDecided) {
  width_controller controller{simple_options()};
  const auto source = [&](sequence_id id) {
    const std::vector<width_request> requests{{id, 4, 3, 0}};
    return controller.choose(requests, width_set::up_to(4))[0].source;
  };
  EXPECT_EQ(source(1), width_source::prior);
  const draft right{{1, 2, 3}, 0};
  const std::vector<token_id> text{1, 2, 3, 4};
  for (int i = 0; i < 6; ++i) controller.observe(1, right, text);
  EXPECT_EQ(source(1), width_source::sequence);
  EXPECT_EQ(source(2), width_source::overall);
  EXPECT_GT(controller.acceptance(1, 0, 0), 0.8);
  EXPECT_GT(controller.acceptance(2, 0, 0), 0.6);
  EXPECT_EQ(controller.acceptance(2, 1, 0), 0.5);  // Other evidence: the table.
  controller.forget(1);
  EXPECT_EQ(source(1), width_source::overall);
  EXPECT_EQ(name_of(width_source::sequence), "sequence");
}

TEST(WidthController, JudgesDraftsThatNobodyVerified) {
  width_controller controller{simple_options()};
  const std::vector<token_id> one{1};
  const std::vector<token_id> two{2};
  const std::vector<token_id> other{9};
  // Classic steps give 1, 2, 9: drafts 1, 2 are right and 3 is wrong.
  const auto prior = controller.acceptance(1, 0, 0);
  controller.observe(1, {{1, 2, 3, 4}, 0}, one);
  controller.observe(1, {}, two);
  const auto second = controller.acceptance(1, 0, 1);
  const auto third = controller.acceptance(1, 0, 2);
  controller.observe(1, {}, other);
  EXPECT_GT(controller.acceptance(1, 0, 0), prior);
  EXPECT_EQ(controller.acceptance(1, 0, 1), second);
  EXPECT_LT(controller.acceptance(1, 0, 2), third);
}

TEST(WidthController, ExploresWithinItsShare) {
  auto options = simple_options();
  options.prior = find_prior(drafter_kind::dflash, "cpu", "q4_1");
  options.draft_seconds = draft_model;
  width_controller controller{options};
  const draft wrong{{5, 5, 5}, 0};
  const std::vector<token_id> text{1};
  for (int i = 0; i < 60; ++i) controller.observe(1, wrong, text);
  double spent = 0.0;
  int explored = 0;
  const int steps = 5000;
  for (int i = 0; i < steps; ++i) {
    const std::vector<width_request> requests{{1, 4, {}, 0}};
    const auto choice = controller.choose(requests, width_set::up_to(4))[0];
    ASSERT_EQ(choice.width, 1);
    if (choice.draft_width == 1) continue;
    ++explored;
    spent += draft_model(1, choice.draft_width);
    controller.observe(1, wrong, text);
  }
  EXPECT_GT(explored, 50);
  EXPECT_LE(spent, 0.0101 * steps * options.step_seconds(1, 1));
}

TEST(PriorTable, FindsTheMostParticularRow) {
  EXPECT_EQ(find_prior(drafter_kind::dflash, "cpu", "q4_1").source,
            "dflash, *, q4_1");
  EXPECT_EQ(find_prior(drafter_kind::dflash, "cuda", "bf16").source,
            "dflash, *, *");
  for (const auto kind : {drafter_kind::lookup, drafter_kind::dflash,
                          drafter_kind::model, drafter_kind::scripted}) {
    const auto prior = find_prior(kind, "abacus", "beads");
    EXPECT_EQ(prior.source, std::string{name_of(kind)} + ", *, *");
    for (const auto& rates : prior.by_evidence) {
      EXPECT_GT(rates.first, 0.0);
      EXPECT_LT(rates.first, 1.0);
      EXPECT_GT(rates.later, 0.0);
      EXPECT_LT(rates.later, 1.0);
    }
  }
  const auto lookup = find_prior(drafter_kind::lookup, "cpu", "q4_1");
  EXPECT_LT(lookup.by_evidence[0].first, lookup.by_evidence[3].first);
}

}  // namespace
}  // namespace vouch::engine
