#include "actors/choice.hpp"

#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/fake_model.hpp"

namespace vouch::actors {
namespace {

struct fixture {
  explicit fixture(generation_request wanted) : request(std::move(wanted)) {
    request.text = "p";
    served = make_serving(test::make_fake_components().parts, {8, 4, 64, 100});
    prepared = prepare(request, *served);
    one.emplace(request, prepared, served, 0);
  }
  generation_request request;
  std::shared_ptr<const serving> served;
  prepared_request prepared;
  std::optional<choice> one;
};

engine::sequence_update update_of(std::string_view bytes,
                                  bool finished = false) {
  engine::sequence_update update;
  for (const char byte : bytes) {
    engine::picked_token picked;
    picked.token = static_cast<unsigned char>(byte);
    picked.logprob = -1;
    picked.top = {{1, -1}, {2, -2}, {3, -3}};
    update.tokens.push_back(picked);
  }
  update.finished = finished;
  update.reason = engine::finish_reason::length;
  return update;
}

TEST(Choice, DeltasConcatenateToTheText) {
  fixture f{{}};
  EXPECT_EQ(f.one->advance(update_of("a\xF0\x9F")).text, "a");
  EXPECT_EQ(f.one->advance(update_of("\x98\x80")).text, "\xF0\x9F\x98\x80");
  const auto last = f.one->advance(update_of("\xF0\x9F", true));
  EXPECT_EQ(last.text, "\xEF\xBF\xBD");  // cut in mid-character: flushed once
  EXPECT_EQ(last.finish_reason, "length");
  EXPECT_EQ(f.one->completion_tokens(), 7);
  EXPECT_TRUE(f.one->ended());
  EXPECT_FALSE(f.one->ended_early());
}

TEST(Choice, AStopStringNeverLeaks) {
  generation_request request;
  request.stop = {"own fox"};
  fixture f{request};
  std::string text;
  const std::string all = "The quick brown fox jumps";
  for (const char byte : all) {
    const auto event = f.one->advance(update_of({&byte, 1}));
    text += event.text;
    EXPECT_EQ(text.find("own"), std::string::npos) << text;
    if (!event.finish_reason.empty()) {
      EXPECT_EQ(event.finish_reason, "stop");
      break;
    }
  }
  EXPECT_EQ(text, "The quick br");
  EXPECT_TRUE(f.one->ended_early());  // nobody had told the sequence
}

TEST(Choice, TheStopReasonNamesWhatTheClientAskedFor) {
  generation_request request;
  request.stop = {"zz", "END"};
  request.stop_token_ids = {7};
  fixture by_string{request};
  auto update = update_of("xEND", true);
  update.reason = engine::finish_reason::stop;
  update.stop_string = 1;
  auto event = by_string.one->advance(update);
  EXPECT_EQ(event.text, "x");
  EXPECT_EQ(event.finish_reason, "stop");
  EXPECT_EQ(event.stop_reason, "END");

  fixture by_token{request};
  update = update_of("x", true);
  update.reason = engine::finish_reason::stop;
  update.stop_token = 7;
  event = by_token.one->advance(update);
  EXPECT_EQ(event.finish_reason, "stop");
  EXPECT_EQ(event.stop_token, 7);
  EXPECT_EQ(event.stop_reason, "");

  fixture by_model{request};
  update.stop_token = test::fake_turn_end;
  event = by_model.one->advance(update);
  EXPECT_EQ(event.finish_reason, "stop");
  EXPECT_EQ(event.stop_reason, "");
  EXPECT_EQ(event.stop_token, -1);
}

// SCHEDULER is not told stop strings where special tokens are text, so its
// update names none.
TEST(Choice, TheStopReasonNamesAStringThatTheTextAloneKnows) {
  generation_request request;
  request.stop = {"zz", "8"};
  request.skip_special_tokens = false;
  fixture f{request};
  const auto event = f.one->advance(update_of("x8"));
  EXPECT_EQ(event.text, "x");
  EXPECT_EQ(event.finish_reason, "stop");
  EXPECT_EQ(event.stop_reason, "8");
  EXPECT_EQ(event.stop_token, -1);
  EXPECT_TRUE(f.one->ended_early());
}

TEST(Choice, ShowsAsManyAlternativesAsWereAskedFor) {
  generation_request request;
  request.sampling.logprobs = 1;
  request.prompt_logprobs = 2;
  fixture f{request};
  EXPECT_EQ(f.prepared.sampling.logprobs, 2);
  EXPECT_EQ(f.one->advance(update_of("a")).emitted[0].top.size(), 1U);
  const auto scores = update_of("p").tokens;
  const auto shown =
      f.one->show_prompt(f.prepared.prompt, f.prepared.prompt_text, scores);
  ASSERT_EQ(shown.prompt.size(), 2U);
  EXPECT_EQ(shown.text, "");  // no echo
  EXPECT_TRUE(std::isnan(shown.prompt[0].logprob));
  EXPECT_EQ(shown.prompt[1].top.size(), 2U);
}

}  // namespace
}  // namespace vouch::actors
