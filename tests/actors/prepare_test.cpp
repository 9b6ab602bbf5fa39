#include "actors/prepare.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_model.hpp"

namespace vouch::actors {
namespace {

const char* const chat_source =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

std::shared_ptr<const serving> model(const std::string& chat_template = {}) {
  auto parts = test::make_fake_components({}, chat_template).parts;
  parts.vocab_size = 300;  // a head with more rows than tokens
  return make_serving(std::move(parts), {8, 4, 64, 100});
}

generation_request text(const std::string& prompt) {
  generation_request request;
  request.text = prompt;
  return request;
}

/// The error `request` is refused with: "param: message".
std::string refusal(const generation_request& request, failure kind,
                    const serving& served) {
  try {
    prepare(request, served);
  } catch (const request_error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.param() + ": " + error.what();
  }
  return "accepted";
}

TEST(Prepare, AnEmptyTextWithABeginningTokenIsAPrompt) {
  const auto served = model();
  EXPECT_EQ(prepare(text(""), *served).prompt,
            std::vector<engine::token_id>{test::fake_bos});
  auto bare = text("");
  bare.add_special_tokens = false;
  EXPECT_EQ(refusal(bare, failure::invalid, *served),
            "prompt: the prompt holds no tokens");
}

TEST(Prepare, MaxTokensIsWhatTheContextLeaves) {
  const auto served = model();
  auto request = text("abc");
  EXPECT_EQ(prepare(request, *served).max_tokens, 96);
  request.max_tokens = std::int64_t{1} << 31;
  EXPECT_EQ(prepare(request, *served).max_tokens, 96);
  request.max_tokens = 5;
  EXPECT_EQ(prepare(request, *served).max_tokens, 5);
  request.max_tokens = 0;
  EXPECT_EQ(refusal(request, failure::invalid, *served),
            "max_tokens: max_tokens must be at least 1 unless echo is set");
  request.echo = true;
  EXPECT_TRUE(prepare(request, *served).text_only());
  request.sampling.logprobs = 2;
  const auto scored = prepare(request, *served);
  EXPECT_FALSE(scored.text_only());
  EXPECT_EQ(scored.prompt_logprobs, 2);
}

TEST(Prepare, ALongPromptIsRefusedWithBothCounts) {
  const auto served = model();
  const auto message =
      refusal(text(std::string(200, 'x')), failure::context_length, *served);
  EXPECT_NE(message.find("prompt: "), std::string::npos) << message;
  EXPECT_NE(message.find("100 tokens"), std::string::npos) << message;
  EXPECT_NE(message.find("201"), std::string::npos) << message;
  EXPECT_EQ(prepare(text(std::string(98, 'x')), *served).max_tokens, 1);
  EXPECT_NE(
      refusal(text(std::string(99, 'x')), failure::context_length, *served),
      "accepted");
}

TEST(Prepare, APromptLargerThanThePoolIsRefused) {
  const auto small = make_serving(model()->parts, {2, 4, 64, 100});
  const auto message =
      refusal(text(std::string(40, 'x')), failure::context_length, *small);
  EXPECT_NE(message.find("41 tokens, but the KV pool holds only 32"),
            std::string::npos)
      << message;
}

TEST(Prepare, IdsOutsideTheVocabularyAreNamed) {
  const auto served = model();
  generation_request request;
  request.kind = prompt_kind::tokens;
  request.tokens = {1, 2, 259};
  EXPECT_EQ(refusal(request, failure::invalid, *served),
            "prompt: prompt[2]: token id 259 is not in the vocabulary (0 to "
            "258)");
  request.tokens = {1, -1};
  EXPECT_EQ(refusal(request, failure::invalid, *served),
            "prompt: prompt[1]: token id -1 is not in the vocabulary (0 to "
            "258)");
  request.tokens = {};
  EXPECT_EQ(refusal(request, failure::invalid, *served),
            "prompt: the prompt holds no tokens");
  request = text("a");
  request.stop_token_ids = {300};
  EXPECT_EQ(refusal(request, failure::invalid, *served)
                .find("stop_token_ids: stop_token_ids[0]"),
            0U);
  request = text("a");
  request.sampling.logit_bias = {{5, 1.0F}, {999, 1.0F}};
  EXPECT_EQ(refusal(request, failure::invalid, *served)
                .find("logit_bias: logit_bias[1]"),
            0U);
  EXPECT_EQ(prepare(text("a"), *served).sampling.vocab_limit, 259);
}

TEST(Prepare, FieldsOutOfRangeAreNamed) {
  const auto served = model();
  const auto check = [&](auto set, const std::string& param) {
    auto request = text("a");
    set(request);
    const auto message = refusal(request, failure::invalid, *served);
    EXPECT_EQ(message.substr(0, param.size() + 1), param + ":") << message;
  };
  check([](auto& r) { r.n = 0; }, "n");
  check([](auto& r) { r.n = 1 << 30; }, "n");
  check([](auto& r) { r.max_tokens = -2; }, "max_tokens");
  check([](auto& r) { r.stop = {"ok", ""}; }, "stop");
  check([](auto& r) { r.sampling.temperature = 999999; }, "temperature");
  check([](auto& r) { r.sampling.top_p = -1; }, "top_p");
  check([](auto& r) { r.sampling.frequency_penalty = -3; },
        "frequency_penalty");
  check(
      [](auto& r) {
        r.max_tokens = 2;
        r.sampling.min_tokens = 3;
      },
      "min_tokens");
}

TEST(Prepare, TheRequestsStopTokensStandApartFromTheModels) {
  using ids = std::vector<engine::token_id>;
  const auto served = model(chat_source);
  auto request = text("a");
  request.stop_token_ids = {7, 3, 7};
  auto sampling = prepare(request, *served).sampling;
  EXPECT_EQ(sampling.stop_tokens, ids{test::fake_turn_end});
  EXPECT_EQ(sampling.request_stop_tokens, (ids{3, 7}));
  // Named by the request: it ends the text also with ignore_eos.
  request.stop_token_ids = {test::fake_turn_end};
  sampling = prepare(request, *served).sampling;
  EXPECT_EQ(sampling.stop_tokens, ids{});
  EXPECT_EQ(sampling.request_stop_tokens, ids{test::fake_turn_end});
}

TEST(Prepare, ChatNeedsATemplateThatCanRenderIt) {
  generation_request request;
  request.kind = prompt_kind::chat;
  request.messages = R"([{"role":"user","content":"hi"}])";
  EXPECT_EQ(refusal(request, failure::invalid, *model()).find("messages: "),
            0U);
  const auto raising = model("{{ raise_exception('roles must alternate') }}");
  const auto message = refusal(request, failure::invalid, *raising);
  EXPECT_EQ(message.find("messages: chat template: "), 0U) << message;
  EXPECT_NE(message.find("roles must alternate"), std::string::npos);
  request.messages = "[{";
  EXPECT_EQ(
      refusal(request, failure::invalid, *model(chat_source)).find("messages"),
      0U);
}

TEST(Prepare, ASpecialTokenSpelledByAUserIsText) {
  const auto served = model(chat_source);
  generation_request request;
  request.kind = prompt_kind::chat;
  request.messages = R"([{"role":"user","content":"a<|im_end|>b"}])";
  const auto ends = [&] {
    const auto prompt = prepare(request, *served).prompt;
    return std::count(prompt.begin(), prompt.end(), test::fake_turn_end);
  };
  EXPECT_EQ(ends(), 1);  // the template's own
  request.trust_special_tokens = true;
  EXPECT_EQ(ends(), 2);
  // A completion's prompt is the caller's own: it plays the template's part.
  const auto prompt = prepare(text("<|im_end|>"), *served).prompt;
  EXPECT_EQ(prompt, (std::vector<engine::token_id>{test::fake_bos,
                                                   test::fake_turn_end}));
}

TEST(Prepare, ChoicesDifferInTheirIndexAlone) {
  const auto served = model();
  auto request = text("abc");
  request.n = 3;
  request.stop = {"x"};
  request.prompt_logprobs = 0;
  const auto batch = make_submission(request, prepare(request, *served));
  ASSERT_EQ(batch.choices.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(batch.choices[i].sampling.choice, i);
    EXPECT_EQ(batch.choices[i].prompt, batch.choices[0].prompt);
    EXPECT_EQ(batch.choices[i].stop_strings, request.stop);
    EXPECT_EQ(batch.choices[i].prompt_logprobs, i == 0);
    EXPECT_TRUE(batch.choices[i].speculate);
  }
  request.speculation.enabled = false;
  for (const auto& choice :
       make_submission(request, prepare(request, *served)).choices) {
    EXPECT_FALSE(choice.speculate);
  }
}

}  // namespace
}  // namespace vouch::actors
