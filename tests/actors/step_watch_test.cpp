#include "actors/step_watch.hpp"

#include <gtest/gtest.h>

namespace vouch::actors {
namespace {

TEST(StepWatch, AStepMayTakeAMinute) {
  step_watch watch;
  EXPECT_TRUE(watch.on_time(1'000'000));
  watch.submitted(1000);
  EXPECT_TRUE(watch.on_time(61'000));
  EXPECT_FALSE(watch.on_time(61'001));
  watch.completed(62'000);
  EXPECT_TRUE(watch.on_time(1'000'000));
}

TEST(StepWatch, OrTwentyTimesTheUsual) {
  step_watch watch;
  for (int i = 0; i < 50; ++i) {
    watch.submitted(i * 10'000);
    watch.completed(i * 10'000 + 10'000);
  }
  watch.submitted(500'000);
  EXPECT_TRUE(watch.on_time(500'000 + 200'000));
  EXPECT_FALSE(watch.on_time(500'000 + 200'001));
}

TEST(StepWatch, AQueuedStepAgesOnlyOnceItRuns) {
  step_watch watch;
  watch.submitted(0);
  watch.submitted(1);
  watch.completed(59'000);
  EXPECT_TRUE(watch.on_time(100'000));
}

}  // namespace
}  // namespace vouch::actors
