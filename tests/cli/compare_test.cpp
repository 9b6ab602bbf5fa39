// How `vouch compare` judges an arm.

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "cli/compare/judge.hpp"

namespace vouch::cli::compare {
namespace {

arm some_arm(bool classic) {
  arm made;
  made.name = classic ? "classic" : "lookup, width 4";
  made.classic = classic;
  answer given;
  given.text = "one two";
  given.finish = "length";
  given.tokens = {{1, "one", -0.5F, 11}, {2, " two", -1.5F, 22}};
  made.answers = {given, given};
  if (!classic) made.rounds.rounds = 1;
  return made;
}

std::string failures_of(const arm& tried, bool bytes = true) {
  std::string all;
  for (const auto& each : judge(some_arm(true), tried, bytes).failures) {
    all += each + "\n";
  }
  return all;
}

TEST(compare, EqualArmsHold) {
  const auto judged = judge(some_arm(true), some_arm(false), true);
  EXPECT_TRUE(judged.holds());
  EXPECT_EQ(judged.equal_texts, 2);
  EXPECT_EQ(judged.logprobs_equal, 4);
  EXPECT_EQ(judged.rows, 4);
  EXPECT_EQ(judged.rows_differ, 0);
  EXPECT_TRUE(judged.differences.empty());
  EXPECT_TRUE(judge(some_arm(true), some_arm(true), true).holds());
}

TEST(compare, WhatDidNotRunFails) {
  auto tried = some_arm(false);
  tried.rounds.rounds = 0;
  tried.declines["load"] = 2;
  EXPECT_EQ(failures_of(tried), "nothing was verified (load 2)\n");
  tried = some_arm(true);
  tried.rounds.rounds = 3;
  EXPECT_EQ(failures_of(tried), "blocks were verified in a classic arm\n");
  tried = some_arm(false);
  tried.answers.pop_back();
  EXPECT_EQ(failures_of(tried), "not every prompt was answered\n");
  tried = some_arm(false);
  tried.error = "no connection";
  EXPECT_EQ(failures_of(tried), "no connection\n");
  EXPECT_FALSE(judge({}, {}, false).holds());
}

TEST(compare, EmptyTextsFailEvenWhereTheyAreEqual) {
  auto classic = some_arm(true);
  classic.answers[1] = {};
  auto tried = some_arm(false);
  tried.answers[1] = {};
  const auto judged = judge(classic, tried, false);
  ASSERT_EQ(judged.failures.size(), 1U);
  EXPECT_EQ(judged.failures[0], "prompt 2: the text is empty");
}

TEST(compare, FindsTheFirstTokenThatDiffers) {
  auto tried = some_arm(false);
  tried.answers[1].tokens[1] = {3, " three", -9.0F, 33};
  tried.answers[1].text = "one three";
  EXPECT_EQ(failures_of(tried),
            "prompt 2: token 1 is \" three\" (3), the classic arm has \" two\" "
            "(2)\n");
  const auto judged = judge(some_arm(true), tried, true);
  EXPECT_EQ(judged.equal_texts, 1);
  // Only what stands before it is compared.
  EXPECT_EQ(judged.logprobs_equal, 3);
  EXPECT_EQ(judged.rows, 3);
  ASSERT_EQ(judged.differences.size(), 1U);
  EXPECT_EQ(judged.differences[0].prompt, 1U);
  EXPECT_EQ(judged.differences[0].token, 1);
  EXPECT_EQ(judged.differences[0].row, -1);

  tried = some_arm(false);
  tried.answers[0].tokens.pop_back();
  tried.answers[0].text = "one";
  tried.answers[0].finish = "stop";
  EXPECT_EQ(failures_of(tried),
            "prompt 1: token 1 is its end (stop), the classic arm has \" two\" "
            "(2)\n");
}

TEST(compare, FindsLogitsThatDifferUnderEqualTokens) {
  auto tried = some_arm(false);
  tried.answers[0].tokens[1].logits = 23;
  EXPECT_EQ(failures_of(tried), "prompt 1: the logits of token 1 differ\n");
  EXPECT_EQ(judge(some_arm(true), tried, true).rows_differ, 1);

  tried = some_arm(false);
  auto& logprob = tried.answers[0].tokens[0].logprob;
  logprob = std::nextafter(logprob, 0.0F);
  tried.answers[1].tokens[0].logprob = -0.25F;
  const auto judged = judge(some_arm(true), tried, true);
  EXPECT_EQ(judged.logprobs_equal, 2);
  EXPECT_EQ(judged.logprobs_one_step, 1);
  EXPECT_EQ(judged.logprobs_further, 1);
  EXPECT_EQ(judged.failures.size(), 2U);
}

TEST(compare, BytesThatWereNotComparedFail) {
  auto tried = some_arm(false);
  for (auto& each : tried.answers) {
    for (auto& token : each.tokens) token.logits.reset();
  }
  EXPECT_EQ(failures_of(tried, false), "");
  EXPECT_EQ(failures_of(tried), "no row of logits was compared\n");
}

TEST(compare, TextsHaveTheirSha256) {
  arm empty;
  EXPECT_EQ(sha256_of(empty),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  // The texts' border is part of it.
  arm one;
  one.answers.resize(2);
  one.answers[0].text = "ab";
  arm other = one;
  other.answers[0].text = "a";
  other.answers[1].text = "b";
  EXPECT_NE(sha256_of(one), sha256_of(other));
}

TEST(compare, CountsAcceptanceByPosition) {
  round_counts counts;
  counts.count_positions(3, 3);
  counts.count_positions(3, 1);
  counts.count_positions(1, 0);
  EXPECT_EQ(counts.reached, (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(counts.taken, (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_EQ(counts.rewinds, 2);
}

}  // namespace
}  // namespace vouch::cli::compare
