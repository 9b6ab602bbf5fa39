// What each bad field is told.

#include <string>
#include <vector>

#include "tests/http/schema_fixture.hpp"

namespace vouch::http {
namespace {

struct bad {
  std::string fields;
  std::string param;
  // A part of the message.
  std::string says;
  int status = 400;
};

// Each of `items` given to `parse` is refused as it says.
template <class Parse>
void expect_errors(const std::vector<bad>& items, Parse parse) {
  for (const auto& item : items) {
    SCOPED_TRACE(item.fields);
    const auto error = error_of([&] { parse(item.fields); });
    EXPECT_EQ(error.status(), item.status);
    EXPECT_EQ(error.param(), item.param);
    EXPECT_NE(std::string{error.what()}.find(item.says), std::string::npos)
        << error.what();
  }
}

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
    {R"("speculation":7)", "speculation", "an object"},
    {R"("speculation":true)", "speculation", "an object"},
    {R"("speculation":{"enabled":1})", "speculation.enabled", "true or false"},
    {R"("speculation":{"report":"yes"})", "speculation.report",
     "true or false"},
    {R"("speculation":{"max_width":4})", "speculation.max_width",
     "not built yet"},
    {R"("guided_json":{})", "guided_json", "not built yet"},
    {R"("temperature":1,"temperature":1)", "temperature", "occurs twice"},
    {R"("logit_bias":{"5":1,"5":2})", "5", "occurs twice"},
};

TEST_F(schema, names_each_bad_shared_field) {
  expect_errors(shared_bad, [&](const auto& fields) { chat_with(fields); });
  expect_errors(shared_bad,
                [&](const auto& fields) { completion_with(fields); });
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
  expect_errors(items, [&](const auto& fields) { chat_with(fields); });
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
  expect_errors(items, [&](const auto& fields) { chat(fields); });
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
  expect_errors(items, [&](const auto& fields) { completion(fields); });
}

}  // namespace
}  // namespace vouch::http
