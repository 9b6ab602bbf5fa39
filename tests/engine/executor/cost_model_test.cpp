#include "engine/executor/cost_model.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

using knots = std::vector<cost_curve::knot>;

void expect_never_falls(const cost_curve& curve, std::int64_t rows) {
  double last = 0.0;
  for (std::int64_t i = 0; i <= rows; ++i) {
    EXPECT_GE(curve.at(i), last - 1e-12) << i;
    last = curve.at(i);
  }
}

TEST(cost_curve, goes_through_its_knots_and_straight_between) {
  const cost_curve curve{knots{{8, 8.0}, {1, 3.0}, {4, 4.0}}};
  EXPECT_EQ(curve.at(1), 3.0);
  EXPECT_EQ(curve.at(4), 4.0);
  EXPECT_EQ(curve.at(8), 8.0);
  EXPECT_DOUBLE_EQ(curve.at(6), 6.0);
  EXPECT_DOUBLE_EQ(curve.at(3), 3.0 + 2.0 / 3.0);
}

TEST(cost_curve, has_ends) {
  const cost_curve curve{knots{{2, 3.0}, {4, 4.0}}};
  EXPECT_EQ(curve.at(0), 0.0);
  EXPECT_EQ(curve.at(-3), 0.0);
  EXPECT_EQ(curve.at(1), 3.0);
  EXPECT_DOUBLE_EQ(curve.at(10), 7.0);
  EXPECT_DOUBLE_EQ((cost_curve{knots{{2, 3.0}}}.at(6)), 9.0);
  EXPECT_EQ(cost_curve{}.at(5), 0.0);
}

TEST(cost_curve, repairs_what_falls) {
  const cost_curve curve{knots{{1, 3.0}, {2, 5.0}, {3, 4.0}, {4, 3.0}, {5, 9}}};
  EXPECT_EQ(curve.at(1), 3.0);
  for (int rows : {2, 3, 4}) EXPECT_DOUBLE_EQ(curve.at(rows), 4.0);
  EXPECT_EQ(curve.at(5), 9.0);
  // A violation that reaches back through more than one pool.
  const cost_curve deep{knots{{1, 4.0}, {2, 6.0}, {3, 6.0}, {4, 0.0}}};
  for (int rows : {1, 2, 3, 4}) EXPECT_DOUBLE_EQ(deep.at(rows), 4.0);
}

TEST(cost_curve, leaves_out_what_cannot_be) {
  const cost_curve curve{knots{{0, 1.0},
                               {-1, 1.0},
                               {1, std::nan("")},
                               {2, -1.0},
                               {3, std::numeric_limits<double>::infinity()},
                               {4, 2.0},
                               {4, 3.0}}};
  ASSERT_EQ(curve.knots().size(), 1U);
  EXPECT_EQ(curve.at(4), 3.0);
}

TEST(cost_curve, extends_along_itself) {
  cost_curve curve{knots{{16, 16.0}, {32, 24.0}}};
  const double before = curve.at(100);
  curve.extend(200);
  EXPECT_EQ(curve.knots().back().rows, 200);
  EXPECT_EQ(curve.knots().size(), 5U);  // 64, 128, 200
  EXPECT_DOUBLE_EQ(curve.at(100), before);
  cost_curve nothing;
  nothing.extend(64);
  EXPECT_TRUE(nothing.empty());
}

TEST(cost_curve, moves_by_what_it_is_told) {
  for (const std::int64_t rows : {1, 2, 3, 4, 6, 8, 12}) {
    cost_curve curve{knots{{1, 10.0}, {2, 20.0}, {4, 30.0}, {8, 50.0}}};
    const double before = curve.at(rows);
    curve.move(rows, 1.5);
    EXPECT_NEAR(curve.at(rows), before + 1.5, 1e-9) << rows;
    expect_never_falls(curve, 20);
  }
}

TEST(cost_curve, takes_others_along_rather_than_fall) {
  cost_curve curve{knots{{1, 10.0}, {2, 11.0}, {4, 12.0}, {8, 13.0}}};
  curve.move(2, 5.0);
  for (int rows : {2, 4, 8}) EXPECT_EQ(curve.at(rows), 16.0);
  EXPECT_EQ(curve.at(1), 10.0);
  curve.move(8, -10.0);
  for (int rows : {1, 2, 4, 8}) EXPECT_EQ(curve.at(rows), 6.0);
  curve.move(1, -100.0);
  EXPECT_EQ(curve.at(1), 0.0);
  curve.move(0, 1.0);
  EXPECT_EQ(curve.at(1), 0.0);
}

step_cost_model measured() {
  // Bodies and whole steps of a device whose head takes 1 and 0.25 a row.
  return {knots{{1, 2.0}, {8, 9.0}, {64, 65.0}},
          knots{{1, 3.25}, {4, 7.0}, {8, 12.0}, {64, 82.0}}, 512};
}

TEST(step_cost_model, keeps_body_and_head_apart) {
  const auto costs = measured();
  EXPECT_DOUBLE_EQ(costs.seconds(1, 0), 2.0);
  EXPECT_DOUBLE_EQ(costs.seconds(1, 1), 3.25);
  EXPECT_DOUBLE_EQ(costs.seconds(4, 4), 7.0);
  EXPECT_DOUBLE_EQ(costs.seconds(8, 8), 12.0);
  // A chunk of a prompt has one row of logits at the most.
  EXPECT_DOUBLE_EQ(costs.seconds(64, 1), 66.25);
  EXPECT_DOUBLE_EQ(costs.seconds(512, 0), 513.0);
  EXPECT_EQ(costs.seconds(4, 9), costs.seconds(4, 4));
  EXPECT_EQ(costs.seconds(0, 0), 0.0);
}

TEST(step_cost_model, never_falls_in_either_direction) {
  const auto costs = measured();
  for (std::int64_t rows = 1; rows < 140; ++rows) {
    EXPECT_GE(costs.seconds(rows, 0), costs.seconds(rows - 1, 0));
    for (std::int64_t logits = 1; logits <= rows; ++logits) {
      EXPECT_GE(costs.seconds(rows, logits), costs.seconds(rows, logits - 1));
    }
  }
}

TEST(step_cost_model, knows_nothing_at_first) {
  step_cost_model costs;
  EXPECT_TRUE(costs.empty());
  EXPECT_EQ(costs.seconds(8, 8), 0.0);
  costs.observe(8, 8, 1.0);
  EXPECT_EQ(costs.seconds(8, 8), 0.0);
  EXPECT_TRUE(costs.row_counts().empty());
  EXPECT_EQ(costs.text(), "");
}

TEST(step_cost_model, does_with_whole_steps_alone) {
  const step_cost_model costs{{}, knots{{1, 3.0}}, 4};
  EXPECT_EQ(costs.seconds(1, 1), 3.0);
  EXPECT_EQ(costs.seconds(1, 0), 3.0);
  EXPECT_EQ(costs.seconds(4, 4), 12.0);
}

TEST(step_cost_model, follows_a_machine_that_has_changed) {
  for (const double factor : {3.0, 0.4}) {
    auto costs = measured();
    const auto before = measured();
    for (int i = 0; i < 400; ++i) {
      for (const std::int64_t rows : {1, 3, 8, 40, 300}) {
        costs.observe(rows, rows, factor * before.seconds(rows, rows));
        costs.observe(rows, 1, factor * before.seconds(rows, 1));
      }
    }
    for (const std::int64_t rows : {1, 3, 8, 40, 300}) {
      EXPECT_NEAR(costs.seconds(rows, rows) / before.seconds(rows, rows),
                  factor, 0.1 * factor)
          << rows;
      EXPECT_NEAR(costs.seconds(rows, 1) / before.seconds(rows, 1), factor,
                  0.1 * factor)
          << rows;
    }
  }
}

TEST(step_cost_model, an_outlier_moves_little) {
  auto costs = measured();
  const double before = costs.seconds(8, 8);
  costs.observe(8, 8, 1000.0 * before);
  EXPECT_NEAR(costs.seconds(8, 8), 1.05 * before, 1e-9);
  // One step in twenty held up a hundredfold: off by little for long.
  for (int i = 0; i < 2000; ++i) {
    costs.observe(8, 8, i % 20 == 0 ? 100.0 * before : before);
  }
  EXPECT_LT(costs.seconds(8, 8), 1.06 * before);
  EXPECT_GT(costs.seconds(8, 8), 0.99 * before);
}

TEST(step_cost_model, ignores_what_cannot_be) {
  auto costs = measured();
  const double before = costs.seconds(8, 8);
  for (const double seconds :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    costs.observe(8, 8, seconds);
  }
  costs.observe(0, 0, 1.0);
  costs.observe(-1, 2, 1.0);
  EXPECT_EQ(costs.seconds(8, 8), before);
}

TEST(step_cost_model, stays_sound_whatever_is_observed) {
  std::mt19937 random{7};
  auto costs = measured();
  for (int i = 0; i < 5000; ++i) {
    const auto rows = static_cast<std::int64_t>(random() % 600 + 1);
    const auto logits = static_cast<std::int64_t>(random() % 600);
    costs.observe(rows, logits, 1e-3 * static_cast<double>(random() % 100000));
  }
  double last = 0.0;
  for (std::int64_t rows = 1; rows <= 600; ++rows) {
    const double now = costs.seconds(rows, rows);
    EXPECT_TRUE(std::isfinite(now));
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(step_cost_model, tells_what_it_knows) {
  const step_cost_model costs{knots{{1, 0.002}, {2, 0.0025}}, knots{{1, 0.003}},
                              4};
  EXPECT_EQ(costs.text(), "1: 3.00; without logits 1: 2.00, 2: 2.50");
  EXPECT_EQ(costs.row_counts(), (std::vector<std::int64_t>{1, 2, 4}));
}

}  // namespace
}  // namespace vouch::engine
