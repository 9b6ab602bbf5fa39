#include "engine/sampling/validate.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace vouch::engine {
namespace {

template <class Change>
std::string bad_field(Change change) {
  sampling_params params;
  change(params);
  const auto error = validate(params, 100);
  return error ? error->field : "";
}

TEST(Validate, AcceptsTheDefaultsAndTheEdges) {
  EXPECT_FALSE(validate(sampling_params{}, 100));
  EXPECT_EQ(bad_field([](auto& p) {
              p.temperature = 0.0F;
              p.top_p = 1e-6F;
              p.min_p = 1.0F;
              p.presence_penalty = -2.0F;
              p.frequency_penalty = 2.0F;
              p.repetition_penalty = 10.0F;
              p.logit_bias = {{0, -100.0F}, {99, 100.0F}};
              p.logprobs = 20;
              p.stop_tokens = {99};
            }),
            "");
}

TEST(Validate, NamesTheFieldOutOfRange) {
  for (float x : {-0.1F, 2.5F, 999999.0F, NAN, INFINITY}) {
    EXPECT_EQ(bad_field([x](auto& p) { p.temperature = x; }), "temperature");
  }
  for (float x : {-1.0F, 0.0F, 1.1F, NAN}) {
    EXPECT_EQ(bad_field([x](auto& p) { p.top_p = x; }), "top_p");
  }
  for (float x : {-0.1F, 1.1F, NAN}) {
    EXPECT_EQ(bad_field([x](auto& p) { p.min_p = x; }), "min_p");
  }
  for (float x : {-2.1F, 2.1F, NAN}) {
    EXPECT_EQ(bad_field([x](auto& p) { p.presence_penalty = x; }),
              "presence_penalty");
    EXPECT_EQ(bad_field([x](auto& p) { p.frequency_penalty = x; }),
              "frequency_penalty");
  }
  for (float x : {0.0F, -1.0F, 10.5F, NAN}) {
    EXPECT_EQ(bad_field([x](auto& p) { p.repetition_penalty = x; }),
              "repetition_penalty");
  }
  EXPECT_EQ(bad_field([](auto& p) { p.top_k = -1; }), "top_k");
  EXPECT_EQ(bad_field([](auto& p) { p.min_tokens = -1; }), "min_tokens");
  EXPECT_EQ(bad_field([](auto& p) { p.logprobs = 21; }), "logprobs");
  EXPECT_EQ(bad_field([](auto& p) {
              p.logit_bias = {{100, 0.0F}};
            }),
            "logit_bias");
  EXPECT_EQ(bad_field([](auto& p) {
              p.logit_bias = {{-1, 0.0F}};
            }),
            "logit_bias");
  EXPECT_EQ(bad_field([](auto& p) {
              p.logit_bias = {{1, 101.0F}};
            }),
            "logit_bias");
  EXPECT_EQ(bad_field([](auto& p) { p.request_stop_tokens = {100}; }),
            "stop_token_ids");
  EXPECT_EQ(bad_field([](auto& p) { p.stop_tokens = {100}; }),
            "stop_token_ids");
}

TEST(Validate, SaysTheValueAndTheRange) {
  sampling_params params;
  params.top_p = -1.0F;
  EXPECT_EQ(validate(params, 100)->message, "top_p must be in (0, 1], got -1");
}

}  // namespace
}  // namespace vouch::engine
