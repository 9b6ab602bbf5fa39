#include "http/schema.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/error.hpp"

namespace vouch::http {
namespace {

runtime::model_info small_model() {
  runtime::model_info model;
  model.name = "tiny";
  model.vocab_size = 100;
  model.max_context = 256;
  model.has_chat_template = true;
  return model;
}

struct schema : testing::Test {
  runtime::config settings;
  runtime::model_info model = small_model();

  generation_job chat(const std::string& body) {
    return parse_chat(body, {settings, model});
  }
  // Fields beside a valid messages list.
  generation_job chat_with(const std::string& fields) {
    return chat(R"({"messages":[{"role":"user","content":"hi"}])" +
                (fields.empty() ? "" : "," + fields) + "}");
  }
  generation_job completion(const std::string& body) {
    return parse_completion(body, {settings, model});
  }
  generation_job completion_with(const std::string& fields) {
    return completion(R"({"prompt":"hi")" +
                      (fields.empty() ? "" : "," + fields) + "}");
  }
};

template <class Call>
api_error error_of(Call&& call) {
  try {
    call();
  } catch (const api_error& error) {
    return error;
  }
  return {200, "no error"};
}

struct bad {
  std::string fields;
  std::string param;
  // A part of the message.
  std::string says;
  int status = 400;
};

// Fields that chat and completions share.
const std::vector<bad> shared_bad{
    {R"("temperature":999999)", "temperature", "[0, 2], given 999999"},
    {R"("temperature":-0.1)", "temperature", "[0, 2], given -0.1"},
    {R"("temperature":"1")", "temperature", "given the string \"1\""},
    {R"("temperature":true)", "temperature", "given true"},
    {R"("temperature":[1])", "temperature", "given an array"},
    {R"("top_p":-1)", "top_p", "(0, 1], given -1"},
    {R"("top_p":0)", "top_p", "(0, 1], given 0"},
    {R"("top_p":1.01)", "top_p", "given 1.01"},
    {R"("top_k":-2)", "top_k", "from -1 to 2147483647, given -2"},
    {R"("top_k":1.5)", "top_k", "given 1.5"},
    {R"("top_k":2147483648)", "top_k", "given 2147483648"},
    {R"("min_p":-0.01)", "min_p", "[0, 1]"},
    {R"("min_p":2)", "min_p", "[0, 1]"},
    {R"("presence_penalty":-2.1)", "presence_penalty", "[-2, 2]"},
    {R"("frequency_penalty":2.1)", "frequency_penalty", "[-2, 2]"},
    {R"("repetition_penalty":0)", "repetition_penalty", "(0, 10]"},
    {R"("repetition_penalty":1e-300)", "repetition_penalty", "(0, 10]"},
    {R"("repetition_penalty":-1)", "repetition_penalty", "given -1"},
    {R"("seed":"7")", "seed", "a 64-bit integer"},
    {R"("seed":1.5)", "seed", "a 64-bit integer"},
    {R"("seed":9223372036854775808)", "seed", "given 9223372036854775808"},
    {R"("logit_bias":[])", "logit_bias", "an object, given an array"},
    {R"("logit_bias":{"a":1})", "logit_bias", "token ids from 0 to 99"},
    {R"("logit_bias":{"05":1})", "logit_bias", "given \"05\""},
    {R"("logit_bias":{"-1":1})", "logit_bias", "given \"-1\""},
    {R"("logit_bias":{"100":1})", "logit_bias", "given \"100\""},
    {R"("logit_bias":{"99999999999999999999":1})", "logit_bias", "token ids"},
    {R"("logit_bias":{"5":101})", "logit_bias.5", "[-100, 100], given 101"},
    {R"("logit_bias":{"5":"1"})", "logit_bias.5", "given the string"},
    {R"("max_tokens":-1)", "max_tokens", "at least 0, given -1"},
    {R"("max_tokens":0)", "max_tokens", "given 0"},
    {R"("max_tokens":"16")", "max_tokens", "given the string \"16\""},
    {R"("max_tokens":16.0)", "max_tokens", "an integer"},
    {R"("max_completion_tokens":-5)", "max_completion_tokens", "given -5"},
    {R"("n":0)", "n", "from 1 to 16, given 0"},
    {R"("n":17)", "n", "given 17"},
    {R"("n":"2")", "n", "given the string"},
    {R"("stop":5)", "stop", "a string or a list of strings, given 5"},
    {R"("stop":"")", "stop", "1 to 1024 bytes, given 0"},
    {R"("stop":["a",""])", "stop[1]", "given 0"},
    {R"("stop":["a",3])", "stop[1]", "a string, given 3"},
    {R"("stop":["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a",)"
     R"("a","a"])",
     "stop", "at most 16 strings, given 17"},
    {R"("stop_token_ids":[1,100])", "stop_token_ids[1]", "from 0 to 99"},
    {R"("stop_token_ids":"1")", "stop_token_ids", "an array"},
    {R"("prompt_logprobs":21)", "prompt_logprobs", "from 0 to 20"},
    {R"("prompt_logprobs":1,"stream":true)", "prompt_logprobs", "stream"},
    {R"("ignore_eos":1)", "ignore_eos", "true or false, given 1"},
    {R"("min_tokens":-1)", "min_tokens", "given -1"},
    {R"("skip_special_tokens":"no")", "skip_special_tokens", "true or false"},
    {R"("include_stop_str_in_output":0)", "include_stop_str_in_output",
     "true or false"},
    {R"("stream":"true")", "stream", "true or false"},
    {R"("stream_options":{"include_usage":true})", "stream_options",
     "only allowed with stream: true"},
    {R"("stream":true,"stream_options":{"include_usage":1})",
     "stream_options.include_usage", "true or false"},
    {R"("stream":true,"stream_options":[])", "stream_options", "an object"},
    {R"("priority":"high")", "priority", "an integer"},
    {R"("user":7)", "user", "a string"},
    {R"("model":5)", "model", "a string"},
    {R"("model":"gpt-4")", "model", "\"gpt-4\" is not served", 404},
    {R"("response_format":"json")", "response_format", "an object"},
    {R"("response_format":{})", "response_format.type", "required"},
    {R"("response_format":{"type":"xml"})", "response_format.type", "xml"},
    {R"("response_format":{"type":"json_object"})", "response_format",
     "not built yet"},
    {R"("response_format":{"type":"json_schema","json_schema":{}})",
     "response_format", "not built yet"},
    {R"("speculation":{"enabled":true})", "speculation.enabled",
     "not built yet"},
    {R"("speculation":{})", "speculation.enabled", "not built yet"},
    {R"("speculation":7)", "speculation", "an object"},
    {R"("guided_json":{})", "guided_json", "not built yet"},
    {R"("temperature":1,"temperature":1)", "temperature", "occurs twice"},
    {R"("logit_bias":{"5":1,"5":2})", "5", "occurs twice"},
};

TEST_F(schema, names_each_bad_shared_field) {
  for (const auto& item : shared_bad) {
    SCOPED_TRACE(item.fields);
    for (const auto& error :
         {error_of([&] { chat_with(item.fields); }),
          error_of([&] { completion_with(item.fields); })}) {
      EXPECT_EQ(error.status(), item.status);
      EXPECT_EQ(error.param(), item.param);
      EXPECT_NE(std::string{error.what()}.find(item.says), std::string::npos)
          << error.what();
    }
  }
}

TEST_F(schema, names_each_bad_chat_field) {
  const std::vector<bad> items{
      {R"("max_completion_tokens":0)", "max_completion_tokens", "given 0"},
      {R"("logprobs":3)", "logprobs", "true or false, given 3"},
      {R"("top_logprobs":2)", "top_logprobs", "logprobs: true"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs", "from 0 to 20"},
      {R"("tools":[{"type":"function"}])", "tools", "not built yet"},
      {R"("tools":[{}],"tool_choice":"auto")", "tools", "not built yet"},
      {R"("tools":[7],"tool_choice":"none")", "tools[0]", "an object"},
      {R"("tools":{})", "tools", "an array"},
      {R"("tool_choice":"required")", "tool_choice", "only allowed with tools"},
      {R"("tool_choice":3)", "tool_choice", "or an object, given 3"},
      {R"("tools":[{}],"tool_choice":"all")", "tool_choice", "auto, required"},
      {R"("functions":[])", "functions", "not built yet"},
      {R"("function_call":"auto")", "function_call", "not built yet"},
      {R"("audio":{"voice":"x"})", "audio", "not built yet"},
      {R"("modalities":["text","audio"])", "modalities", "given the string"},
      {R"("chat_template":"{{ x }}")", "chat_template", "its own template"},
      {R"("chat_template_kwargs":[])", "chat_template_kwargs", "an object"},
      {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs",
       "cannot replace"},
      {R"("add_generation_prompt":"x")", "add_generation_prompt",
       "true or false"},
      {R"("continue_final_message":true)", "continue_final_message",
       "not built yet"},
  };
  for (const auto& item : items) {
    SCOPED_TRACE(item.fields);
    const auto error = error_of([&] { chat_with(item.fields); });
    EXPECT_EQ(error.status(), item.status);
    EXPECT_EQ(error.param(), item.param);
    EXPECT_NE(std::string{error.what()}.find(item.says), std::string::npos)
        << error.what();
  }
}

TEST_F(schema, names_each_bad_message) {
  const std::vector<bad> items{
      {R"({})", "messages", "required"},
      {R"({"messages":null})", "messages", "required"},
      {R"({"messages":[]})", "messages", "at least one"},
      {R"({"messages":"hi"})", "messages", "an array, given the string"},
      {R"({"messages":[7]})", "messages[0]", "an object, given 7"},
      {R"({"messages":[{}]})", "messages[0].role", "required"},
      {R"({"messages":[{"role":7,"content":"x"}]})", "messages[0].role",
       "a string"},
      {R"({"messages":[{"role":"boss","content":"x"}]})", "messages[0].role",
       "given \"boss\""},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content", "required"},
      {R"({"messages":[{"role":"user","content":null}]})",
       "messages[0].content", "required"},
      {R"({"messages":[{"role":"assistant","content":null}]})",
       "messages[0].content", "required"},
      {R"({"messages":[{"role":"user","content":{}}]})", "messages[0].content",
       "a string or a list of parts"},
      {R"({"messages":[{"role":"user","content":[]}]})", "messages[0].content",
       "at least one part"},
      {R"({"messages":[{"role":"user","content":["x"]}]})",
       "messages[0].content[0]", "an object"},
      {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})",
       "messages[0].content[0].type", "required"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
       "messages[0].content[0].text", "required"},
      {R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
       R"({"type":"image_url","image_url":{"url":"x"}}]}]})",
       "messages[0].content[1].type", "text parts only"},
      {R"({"messages":[{"role":"user","content":[{"type":"input_audio"}]}]})",
       "messages[0].content[0].type", "text parts only"},
      {R"({"messages":[{"role":"user","content":"x","name":3}]})",
       "messages[0].name", "a string"},
      {R"({"messages":[{"role":"user","content":"x","content":"y"}]})",
       "content", "occurs twice"},
  };
  for (const auto& item : items) {
    SCOPED_TRACE(item.fields);
    const auto error = error_of([&] { chat(item.fields); });
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.param(), item.param);
    EXPECT_NE(std::string{error.what()}.find(item.says), std::string::npos)
        << error.what();
  }
}

TEST_F(schema, names_each_bad_completion_field) {
  const std::vector<bad> items{
      {R"({})", "prompt", "required"},
      {R"({"prompt":null})", "prompt", "required"},
      {R"({"prompt":7})", "prompt", "given 7"},
      {R"({"prompt":{}})", "prompt", "given an object"},
      {R"({"prompt":[]})", "prompt", "at least one"},
      {R"({"prompt":[[]]})", "prompt[0]", "at least one token id"},
      {R"({"prompt":["a",1]})", "prompt[1]", "given 1"},
      {R"({"prompt":[1,"a"]})", "prompt[1]", "given the string \"a\""},
      {R"({"prompt":[1,100]})", "prompt[1]", "from 0 to 99, given 100"},
      {R"({"prompt":[-1]})", "prompt[0]", "given -1"},
      {R"({"prompt":[1.5]})", "prompt[0]", "given 1.5"},
      {R"({"prompt":[[1],[2,999999]]})", "prompt[1][1]", "given 999999"},
      {R"({"prompt":[[1],"a"]})", "prompt[1]", "given the string"},
      {R"({"prompt":[true]})", "prompt[0]", "given true"},
      {R"({"prompt":"a","logprobs":true})", "logprobs", "from 0 to 20"},
      {R"({"prompt":"a","logprobs":21})", "logprobs", "from 0 to 20"},
      {R"({"prompt":"a","echo":"x"})", "echo", "true or false"},
      {R"({"prompt":"a","best_of":2})", "best_of", "expected 1"},
      {R"({"prompt":"a","best_of":"1"})", "best_of", "expected 1"},
      {R"({"prompt":"a","suffix":"b"})", "suffix", "not built yet"},
      {R"({"prompt":"a","max_tokens":0,"echo":false})", "max_tokens", "echo"},
  };
  for (const auto& item : items) {
    SCOPED_TRACE(item.fields);
    const auto error = error_of([&] { completion(item.fields); });
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.param(), item.param);
    EXPECT_NE(std::string{error.what()}.find(item.says), std::string::npos)
        << error.what();
  }
}

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
      R"("tools":[],"tool_choice":"none","speculation":{"enabled":false})"));
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
