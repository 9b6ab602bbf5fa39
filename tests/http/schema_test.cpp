#include "http/schema.hpp"

#include <limits>
#include <string>
#include <vector>

#include "tests/http/schema_fixture.hpp"

namespace vouch::http {
namespace {

TEST_F(schema, bounds_a_list_by_the_queue) {
  settings.policy.limits.max_queued_requests = 3;
  EXPECT_EQ(completion(R"({"prompt":["a","b","c"],"n":16})").requests.size(),
            3U);
  for (const std::string body :
       {R"({"prompt":["a","b","c","d"]})", R"({"prompt":[[1],[2],[3],[4]]})"}) {
    const auto error = error_of([&] { completion(body); });
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.param(), "prompt");
    EXPECT_NE(std::string{error.what()}.find(
                  "at most 3 prompts (limits.max_queued_requests"),
              std::string::npos)
        << error.what();
  }
  // Token ids of one prompt are no list of prompts.
  EXPECT_EQ(completion(R"({"prompt":[1,2,3,4]})").requests.size(), 1U);
}

TEST_F(schema, refuses_what_is_not_json) {
  const std::vector<std::pair<std::string, std::string>> items{
      {"", "empty"},
      {"   ", "empty"},
      {"{:", "structure"},
      {"{", "structure"},
      {"[]", "expected an object, given an array"},
      {"\"x\"", "expected an object"},
      {"null", "expected an object"},
      {R"({"prompt":"a"} trailing)", "after its end"},
      {R"({"prompt":"a"}{"prompt":"b"})", "after its end"},
      {R"({"prompt":"a",})", "structure"},
      {R"({'prompt':'a'})", "structure"},
      {R"({"prompt":"a","temperature":1e400})", "number"},
      {R"({"prompt":"a","temperature":NaN})", "structure"},
      {R"({"prompt":"a","temperature":Infinity})", "structure"},
      {R"({"prompt":"a","temperature":01})", "number"},
      {R"({"prompt":"a","temperature":.5})", "structure"},
      {R"({"prompt":"a","seed":99999999999999999999999})", "number"},
      {"{\"prompt\":\"\xff\"}", "UTF-8"},
      {"{\"prompt\":\"\xed\xa0\x80\"}", "UTF-8"},
      {R"({"prompt":"\ud800"})", "surrogate"},
      {R"({"prompt":"\udc00"})", "surrogate"},
      {R"({"prompt":"\ud800\u0041"})", "surrogate"},
      {R"({"\ud800":"a"})", "surrogate"},
      {R"({"prompt":"\q"})", "escape"},
      {"{\"prompt\":\"a\nb\"}", "control character"},
      {R"({"prompt":"a)", "not closed"},
  };
  for (const auto& [body, says] : items) {
    SCOPED_TRACE(body);
    const auto error = error_of([&, b = body] { completion(b); });
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.code(), "bad_json");
    EXPECT_NE(std::string{error.what()}.find(says), std::string::npos)
        << error.what();
  }
}

TEST_F(schema, bounds_the_depth) {
  settings.server.max_json_depth = 8;
  const auto nested = [](int depth) {
    return R"({"prompt":"a","x":)" + std::string(depth - 1, '[') +
           std::string(depth - 1, ']') + "}";
  };
  EXPECT_NO_THROW(completion(nested(8)));
  const auto error = error_of([&] { completion(nested(9)); });
  EXPECT_EQ(error.status(), 400);
  EXPECT_NE(std::string{error.what()}.find("deeper than 8"), std::string::npos);
  EXPECT_EQ(error_of([&] { completion(nested(100'000)); }).status(), 400);
}

TEST_F(schema, unknown_fields_are_errors_only_when_strict) {
  EXPECT_NO_THROW(chat_with(R"("tempreature":1)"));
  settings.server.strict = true;
  const auto error = error_of([&] { chat_with(R"("tempreature":1)"); });
  EXPECT_EQ(error.status(), 400);
  EXPECT_EQ(error.param(), "tempreature");
  EXPECT_EQ(error.code(), "unknown_field");
  const auto inner = error_of(
      [&] { completion_with(R"("stream":true,"stream_options":{"x":1})"); });
  EXPECT_EQ(inner.param(), "stream_options.x");
  const auto deeper =
      error_of([&] { completion_with(R"("speculation":{"widht":4})"); });
  EXPECT_EQ(deeper.param(), "speculation.widht");
  // Every field that is documented passes.
  EXPECT_NO_THROW(chat_with(
      R"("model":"tiny","max_tokens":5,"max_completion_tokens":5,"n":1,)"
      R"("stream":true,"stream_options":{"include_usage":true},"stop":"x",)"
      R"("stop_token_ids":[1],"temperature":1,"top_p":1,"top_k":1,"min_p":0,)"
      R"("seed":1,"presence_penalty":0,"frequency_penalty":0,)"
      R"("repetition_penalty":1,"logit_bias":{},"logprobs":true,)"
      R"("top_logprobs":1,"ignore_eos":false,"min_tokens":0,)"
      R"("skip_special_tokens":true,"include_stop_str_in_output":false,)"
      R"("chat_template_kwargs":{},"add_generation_prompt":true,)"
      R"("priority":0,"user":"u","response_format":{"type":"text"},)"
      R"("tools":[],"tool_choice":"none","speculation":{"enabled":false,"report":true})"));
}

TEST_F(schema, passes_on_what_is_said_about_speculation) {
  const auto silent = chat_with("").requests[0].speculation;
  EXPECT_TRUE(silent.enabled);
  EXPECT_FALSE(silent.report);
  const auto empty = chat_with(R"("speculation":{})").requests[0].speculation;
  EXPECT_TRUE(empty.enabled);
  EXPECT_FALSE(empty.report);
  const auto job = completion(
      R"({"prompt":["a","b"],"speculation":{"enabled":false,"report":true}})");
  for (const auto& request : job.requests) {
    EXPECT_FALSE(request.speculation.enabled);
    EXPECT_TRUE(request.speculation.report);
  }
}

TEST_F(schema, passes_chat_fields_on) {
  const auto job =
      chat(R"({"messages":[{"role":"system","content":"s"},)"
           R"({"content":[{"type":"text","text":"a\"b"},)"
           R"({"type":"text","text":"c"}],"role":"user","z":{"b":1,"a":2}}],)"
           R"("model":"","n":3,"stream":true,)"
           R"("stream_options":{"include_usage":true},"seed":-5,)"
           R"("logprobs":true,"top_logprobs":4,"max_tokens":7,)"
           R"("max_completion_tokens":9,"chat_template_kwargs":{"q":[1]},)"
           R"("tools":[{"type":"function"}],"tool_choice":"none",)"
           R"("logit_bias":{"7":-100},"user":"me","priority":-3})");
  ASSERT_EQ(job.requests.size(), 1u);
  const auto& request = job.requests[0];
  EXPECT_EQ(request.kind, actors::prompt_kind::chat);
  EXPECT_EQ(request.messages,
            R"([{"role":"system","content":"s"},)"
            R"({"content":"a\"b\nc","role":"user","z":{"b":1,"a":2}}])");
  EXPECT_EQ(request.tools, R"([{"type":"function"}])");
  EXPECT_EQ(request.template_variables, R"({"q":[1]})");
  EXPECT_FALSE(request.add_special_tokens);
  EXPECT_FALSE(request.trust_special_tokens);
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_TRUE(request.has_seed);
  EXPECT_EQ(request.sampling.seed, static_cast<std::uint64_t>(-5));
  EXPECT_EQ(request.sampling.logprobs, 4);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0].first, 7);
  EXPECT_EQ(request.sampling.logit_bias[0].second, -100.0F);
  EXPECT_EQ(request.tenant, "me");
  EXPECT_EQ(request.priority, -3);
  EXPECT_TRUE(job.stream);
  EXPECT_TRUE(job.include_usage);
}

TEST_F(schema, takes_the_models_defaults_where_the_request_is_silent) {
  EXPECT_EQ(chat_with("").requests[0].sampling.temperature, 1.0F);
  EXPECT_EQ(chat_with("").requests[0].max_tokens, -1);
  EXPECT_EQ(completion_with("").requests[0].max_tokens,
            default_completion_tokens);
  model.defaults.temperature = 0.5;
  model.defaults.top_p = 0.9;
  model.defaults.top_k = 40;
  model.defaults.min_p = 0.1;
  model.defaults.repetition_penalty = 1.1;
  const auto sampling = chat_with("").requests[0].sampling;
  EXPECT_EQ(sampling.temperature, 0.5F);
  EXPECT_EQ(sampling.top_p, 0.9F);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.1F);
  EXPECT_EQ(sampling.repetition_penalty, 1.1F);
  const auto said =
      chat_with(R"("temperature":0,"top_k":-1)").requests[0].sampling;
  EXPECT_EQ(said.temperature, 0.0F);
  EXPECT_EQ(said.top_k, 0);
}

TEST_F(schema, takes_every_shape_of_prompt) {
  EXPECT_EQ(completion(R"({"prompt":"a"})").requests[0].text, "a");
  const auto texts = completion(R"({"prompt":["a","b"]})");
  ASSERT_EQ(texts.requests.size(), 2u);
  EXPECT_EQ(texts.requests[1].text, "b");
  const auto ids = completion(R"({"prompt":[1,2]})");
  ASSERT_EQ(ids.requests.size(), 1u);
  EXPECT_EQ(ids.requests[0].kind, actors::prompt_kind::tokens);
  EXPECT_EQ(ids.requests[0].tokens, (std::vector<engine::token_id>{1, 2}));
  const auto lists = completion(R"({"prompt":[[1],[2,3]]})");
  ASSERT_EQ(lists.requests.size(), 2u);
  EXPECT_EQ(lists.requests[1].tokens, (std::vector<engine::token_id>{2, 3}));
}

TEST_F(schema, takes_odd_but_legal_lengths) {
  EXPECT_EQ(
      completion_with(R"("max_tokens":2147483648)").requests[0].max_tokens,
      2147483648);
  const auto echoed = completion_with(R"("max_tokens":0,"echo":true)");
  EXPECT_EQ(echoed.requests[0].max_tokens, 0);
  EXPECT_TRUE(echoed.requests[0].echo);
  EXPECT_EQ(completion_with(R"("echo":true,"logprobs":2)")
                .requests[0]
                .prompt_logprobs,
            2);
  const auto both =
      completion_with(R"("echo":true,"logprobs":2,"prompt_logprobs":3)");
  EXPECT_EQ(both.requests[0].prompt_logprobs, 3);
  EXPECT_EQ(both.echo_top, 2U);
  EXPECT_EQ(both.prompt_top, 3U);
  EXPECT_NO_THROW(chat_with(R"("temperature":null,"stop":null,"n":null)"));
  EXPECT_NO_THROW(completion_with(R"("best_of":1,"suffix":"","stop":["a"])"));
}

TEST_F(schema, a_model_without_a_template_takes_no_chat) {
  model.has_chat_template = false;
  const auto error = error_of([&] { chat_with(""); });
  EXPECT_EQ(error.status(), 400);
  EXPECT_EQ(error.code(), "no_chat_template");
}

TEST_F(schema, reads_the_text_services) {
  const schema_context context{settings, model};
  EXPECT_EQ(parse_tokenize(R"({"prompt":"a"})", context).text, "a");
  EXPECT_EQ(parse_tokenize(R"({"content":"b"})", context).text, "b");
  EXPECT_TRUE(parse_tokenize(R"({"prompt":"a"})", context).parse_special);
  EXPECT_FALSE(
      parse_tokenize(R"({"prompt":"a","parse_special":false})", context)
          .parse_special);
  EXPECT_EQ(error_of([&] { parse_tokenize("{}", context); }).param(), "prompt");
  EXPECT_EQ(parse_detokenize(R"({"tokens":[3]})", context).tokens.size(), 1u);
  EXPECT_EQ(error_of([&] {
              parse_detokenize(R"({"tokens":[100]})", context);
            }).param(),
            "tokens[0]");
  const auto job = parse_template(
      R"({"messages":[{"role":"user","content":"x"}],"tools":[{}],)"
      R"("tool_choice":"none","add_generation_prompt":false})",
      context);
  EXPECT_EQ(job.tools, "[{}]");
  EXPECT_FALSE(job.add_generation_prompt);
}

TEST_F(schema, judges_tools_alike_in_chat_and_template) {
  const schema_context context{settings, model};
  for (const auto* fields :
       {R"("tools":[{}])", R"("tools":[{}],"tool_choice":"auto")",
        R"("tools":[{}],"tool_choice":{})", R"("tools":[7])",
        R"("tools":[{}],"tool_choice":"x")", R"("tools":{})",
        R"("tool_choice":"required")", R"("tool_choice":"auto")",
        R"("tools":[],"tool_choice":"none")"}) {
    SCOPED_TRACE(fields);
    const auto chat = error_of([&] { chat_with(fields); });
    const auto body =
        std::string{R"({"messages":[{"role":"user","content":"x"}],)"} +
        fields + "}";
    const auto rendered = error_of([&] { parse_template(body, context); });
    EXPECT_STREQ(chat.what(), rendered.what());
    EXPECT_EQ(chat.code(), rendered.code());
    EXPECT_EQ(chat.param(), rendered.param());
  }
}

TEST_F(schema, says_where_a_small_max_tokens_comes_from) {
  const auto error = error_of([&] { completion_with(R"("min_tokens":20)"); });
  EXPECT_EQ(error.status(), 400);
  EXPECT_EQ(error.param(), "min_tokens");
  EXPECT_STREQ(error.what(),
               "min_tokens: 20 is more than max_tokens, which is 16 where the "
               "request does not give it");
  EXPECT_EQ(completion_with(R"("min_tokens":16)").requests[0].max_tokens, 16);
  EXPECT_EQ(completion_with(R"("min_tokens":20,"max_tokens":20)")
                .requests[0]
                .max_tokens,
            20);
}

}  // namespace
}  // namespace vouch::http
