#include "http/answer.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace vouch::http {
namespace {

namespace json = boost::json;

generation_job job_of(generation_kind kind, int prompts = 1, int n = 1) {
  generation_job job;
  job.kind = kind;
  job.n = n;
  for (int i = 0; i < prompts; ++i) {
    actors::generation_request request;
    request.id = std::string{"r"}.append(std::to_string(i));
    job.requests.push_back(request);
  }
  return job;
}

answer make(const generation_job& job) {
  return {job, {"id-1", 1700000000, "tiny", "fp"}, [](engine::token_id id) {
            return std::string{"<"}.append(std::to_string(id)).append(">");
          }};
}

actors::started started(const std::string& id = "r0") {
  return {id, 5, 42, 16};
}

actors::tokens piece(const std::string& text, const std::string& finish = {},
                     int choice = 0, const std::string& id = "r0") {
  actors::tokens event;
  event.id = id;
  event.choice = choice;
  event.text = text;
  event.finish_reason = finish;
  return event;
}

actors::finished finished(const std::string& id = "r0") {
  return {id, 5, 3, 2};
}

// The data of each event in a stream.
std::vector<std::string> events(const std::string& stream) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < stream.size()) {
    const auto end = stream.find("\n\n", at);
    EXPECT_NE(end, std::string::npos);
    const auto block = stream.substr(at, end - at);
    const auto data = block.find("data: ");
    EXPECT_NE(data, std::string::npos) << block;
    result.push_back(block.substr(data + 6));
    at = end + 2;
  }
  return result;
}

TEST(answer, streams_chat_in_openais_shape) {
  auto job = job_of(generation_kind::chat);
  job.stream = true;
  auto it = make(job);
  EXPECT_FALSE(it.started());
  it.apply(started());
  EXPECT_TRUE(it.started());
  it.apply(piece("Hel"));
  it.apply(piece(""));  // held back: no chunk
  it.apply(piece("lo", "stop"));
  it.apply(finished());
  EXPECT_TRUE(it.done());
  const auto list = events(it.take_stream());
  const std::string stamp =
      R"({"id":"id-1","object":"chat.completion.chunk","created":1700000000,)"
      R"("model":"tiny","system_fingerprint":"fp","choices":[)";
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0], stamp + R"({"index":0,"delta":{"role":"assistant",)"
                             R"("content":""},"logprobs":null,)"
                             R"("finish_reason":null}]})");
  EXPECT_EQ(list[1], stamp + R"({"index":0,"delta":{"content":"Hel"},)"
                             R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(list[2], stamp + R"({"index":0,"delta":{"content":"lo"},)"
                             R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(list[3], stamp + R"({"index":0,"delta":{},"logprobs":null,)"
                             R"("finish_reason":"stop"}]})");
  EXPECT_EQ(list[4], "[DONE]");
}

// The spelled-out chunk is what the JSON library would have written.
TEST(answer, text_is_escaped_in_every_kind_of_chunk) {
  const std::string text = "\"quoted\" \\ \n\t\x01 caf\u00e9 </data>";
  for (const auto kind : {generation_kind::chat, generation_kind::completion}) {
    auto job = job_of(kind, 1, 2);
    job.stream = true;
    job.include_usage = true;
    auto it = make(job);
    it.apply(started());
    it.take_stream();
    it.apply(piece(text, {}, 1));
    const auto list = events(it.take_stream());
    ASSERT_EQ(list.size(), 1u);
    const auto chunk = json::parse(list[0]);
    EXPECT_EQ(json::serialize(chunk), list[0]);
    EXPECT_TRUE(chunk.at("usage").is_null());
    const auto& choice = chunk.at("choices").at(0);
    EXPECT_EQ(choice.at("index"), 1);
    EXPECT_EQ(kind == generation_kind::chat ? choice.at("delta").at("content")
                                            : choice.at("text"),
              json::value(text));
  }
}

TEST(answer, include_usage_adds_one_last_chunk) {
  for (const auto kind : {generation_kind::chat, generation_kind::completion}) {
    auto job = job_of(kind);
    job.stream = true;
    job.include_usage = true;
    auto it = make(job);
    it.apply(started());
    it.apply(piece("a", "length"));
    it.apply(finished());
    const auto list = events(it.take_stream());
    ASSERT_GE(list.size(), 3u);
    for (std::size_t i = 0; i + 2 < list.size(); ++i)
      EXPECT_TRUE(json::parse(list[i]).at("usage").is_null());
    const auto last = json::parse(list[list.size() - 2]);
    EXPECT_TRUE(last.at("choices").as_array().empty());
    EXPECT_EQ(json::serialize(last.at("usage")),
              R"({"prompt_tokens":5,"completion_tokens":3,"total_tokens":8,)"
              R"("prompt_tokens_details":{"cached_tokens":2},)"
              R"("completion_tokens_details":{"accepted_prediction_tokens":0,)"
              R"("rejected_prediction_tokens":0}})");
  }
}

TEST(answer, gives_chat_as_one_body) {
  auto it = make(job_of(generation_kind::chat));
  it.apply(started());
  it.apply(piece("Hel"));
  auto last = piece("lo", "stop");
  last.stop_reason = "\n";
  it.apply(last);
  it.apply(finished());
  EXPECT_EQ(it.body(),
            R"({"id":"id-1","object":"chat.completion","created":1700000000,)"
            R"("model":"tiny","system_fingerprint":"fp","choices":[{"index":0,)"
            R"("message":{"role":"assistant","content":"Hello",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop",)"
            R"("stop_reason":"\n"}],"usage":{"prompt_tokens":5,)"
            R"("completion_tokens":3,"total_tokens":8,)"
            R"("prompt_tokens_details":{"cached_tokens":2},)"
            R"("completion_tokens_details":{"accepted_prediction_tokens":0,)"
            R"("rejected_prediction_tokens":0}},"seed":42})");
}

TEST(answer, gives_a_stop_token_as_a_number) {
  for (const auto kind : {generation_kind::chat, generation_kind::completion}) {
    for (const bool stream : {false, true}) {
      auto job = job_of(kind);
      job.stream = stream;
      auto it = make(job);
      it.apply(started());
      auto last = piece("a", "stop");
      last.stop_token = 0;
      it.apply(last);
      it.apply(finished());
      const auto text = stream ? it.take_stream() : it.body();
      EXPECT_NE(text.find(R"("stop_reason":0)"), std::string::npos) << text;
    }
  }
}

TEST(answer, orders_choices_by_prompt_then_choice) {
  auto it = make(job_of(generation_kind::completion, 2, 2));
  it.apply(started("r1"));
  EXPECT_FALSE(it.started());
  it.apply(started("r0"));
  EXPECT_TRUE(it.started());
  it.apply(piece("d", "stop", 1, "r1"));
  it.apply(piece("a", "stop", 0, "r0"));
  it.apply(piece("c", "stop", 0, "r1"));
  it.apply(piece("b", "length", 1, "r0"));
  it.apply(finished("r1"));
  EXPECT_FALSE(it.done());
  it.apply(finished("r0"));
  EXPECT_TRUE(it.done());
  const auto body = json::parse(it.body());
  std::string texts;
  for (const auto& choice : body.at("choices").as_array()) {
    EXPECT_EQ(choice.at("index").to_number<std::size_t>(), texts.size());
    texts += choice.at("text").as_string().c_str();
  }
  EXPECT_EQ(texts, "abcd");
  EXPECT_EQ(body.at("usage").at("prompt_tokens").as_int64(), 10);
  EXPECT_EQ(body.at("usage").at("completion_tokens").as_int64(), 6);
}

TEST(answer, roles_come_before_tokens_of_prompts_admitted_early) {
  auto job = job_of(generation_kind::chat, 1, 2);
  job.stream = true;
  auto it = make(job);
  it.apply(piece("early"));
  EXPECT_EQ(it.take_stream(), "");
  it.apply(started());
  const auto list = events(it.take_stream());
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(json::parse(list[1])
                .at("choices")
                .at(0)
                .at("delta")
                .at("role")
                .as_string(),
            "assistant");
  EXPECT_NE(list[2].find("early"), std::string::npos);
}

std::vector<actors::token_info> emoji_tokens() {
  // Half of an emoji each, then a letter.
  return {{1, "\xf0\x9f", -0.5F, {{1, -0.5F}, {2, -1.5F}}},
          {2, "\x98\x80", -0.25F, {{2, -0.25F}}},
          {3, "a", -INFINITY, {}}};
}

TEST(answer, chat_logprobs_carry_bytes) {
  auto job = job_of(generation_kind::chat);
  job.logprobs = true;
  auto it = make(job);
  it.apply(started());
  auto event = piece(
      "\xf0\x9f\x98\x80"
      "a",
      "length");
  event.emitted = emoji_tokens();
  it.apply(event);
  it.apply(finished());
  const auto body = json::parse(it.body());
  const auto& content =
      body.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 3u);
  EXPECT_EQ(json::serialize(content[0]),
            "{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-5E-1,\"bytes\":[240,159],"
            "\"top_logprobs\":[{\"token\":\"<1>\",\"logprob\":-5E-1,\"bytes\":"
            "[60,49,62]},{\"token\":\"<2>\",\"logprob\":-1.5E0,\"bytes\":"
            "[60,50,62]}]}");
  EXPECT_EQ(content[2].at("logprob").as_double(), -9999.0);
}

TEST(answer, completion_logprobs_count_characters_across_chunks) {
  auto job = job_of(generation_kind::completion);
  job.logprobs = true;
  job.echo = true;
  const auto first = [] {
    auto event = piece(
        "xy\xf0\x9f\x98\x80"
        "a");
    event.prompt = {{7, "x", NAN, {}}, {8, "y", -1.0F, {{8, -1.0F}}}};
    event.emitted = emoji_tokens();
    return event;
  }();
  auto second = piece("b", "length");
  second.emitted = {{4, "b", -2.0F, {}}};

  auto whole = make(job);
  whole.apply(started());
  whole.apply(first);
  whole.apply(second);
  whole.apply(finished());
  const auto body = json::parse(whole.body());
  const auto& logprobs = body.at("choices").at(0).at("logprobs");
  EXPECT_EQ(json::serialize(logprobs.at("text_offset")), "[0,1,2,3,3,4]");
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
  EXPECT_EQ(json::serialize(logprobs.at("top_logprobs").at(1)),
            R"({"<8>":-1E0})");
  EXPECT_EQ(logprobs.at("tokens").as_array().size(), 6u);

  job.stream = true;
  auto streamed = make(job);
  streamed.apply(started());
  streamed.apply(first);
  streamed.apply(second);
  const auto list = events(streamed.take_stream());
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(json::serialize(json::parse(list[1])
                                .at("choices")
                                .at(0)
                                .at("logprobs")
                                .at("text_offset")),
            "[4]");
}

TEST(answer, prompt_logprobs_are_a_list_beside_the_choice) {
  auto job = job_of(generation_kind::completion);
  job.prompt_logprobs = true;
  auto it = make(job);
  it.apply(started());
  auto event = piece("z", "length");
  event.prompt = {{7, "x", NAN, {}}, {8, "y", -1.0F, {{9, -0.5F}}}};
  it.apply(event);
  it.apply(finished());
  EXPECT_EQ(json::serialize(json::parse(it.body()).at("choices").at(0).at(
                "prompt_logprobs")),
            R"([null,{"8":{"logprob":-1E0,"rank":null,"decoded_token":"y"},)"
            R"("9":{"logprob":-5E-1,"rank":1,"decoded_token":"<9>"}}])");
}

TEST(answer, logprobs_and_prompt_logprobs_have_their_own_number) {
  auto job = job_of(generation_kind::completion);
  job.logprobs = true;
  job.prompt_logprobs = true;
  job.echo = true;
  const auto of = [&job](std::size_t echo_top, std::size_t prompt_top) {
    job.echo_top = echo_top;
    job.prompt_top = prompt_top;
    auto it = make(job);
    it.apply(started());
    auto event = piece("xy", "length");
    event.prompt = {{7, "x", NAN, {}},
                    {8, "y", -1.0F, {{9, -0.5F}, {8, -1.0F}}}};
    it.apply(event);
    it.apply(finished());
    const auto body = json::parse(it.body());
    const auto& choice = body.at("choices").at(0);
    return json::serialize(choice.at("logprobs").at("top_logprobs").at(1)) +
           std::to_string(
               choice.at("prompt_logprobs").at(1).as_object().size());
  };
  EXPECT_EQ(of(0, 2), "{}2");
  EXPECT_EQ(of(2, 0), R"({"<9>":-5E-1,"<8>":-1E0}1)");
  EXPECT_EQ(of(1, 1), R"({"<9>":-5E-1}2)");
}

TEST(answer, a_failure_before_the_start_is_a_status) {
  using actors::failure;
  const std::vector<std::tuple<failure, int, std::string>> items{
      {failure::invalid, 400, "invalid_value"},
      {failure::context_length, 400, "context_length_exceeded"},
      {failure::queue_full, 503, "queue_full"},
      {failure::unavailable, 503, "unavailable"},
      {failure::timeout, 504, "timeout"},
      {failure::internal, 500, "internal_error"},
  };
  for (const auto& [kind, status, code] : items) {
    auto job = job_of(generation_kind::chat);
    job.stream = true;
    auto it = make(job);
    it.apply(actors::failed{"r0", kind, "why", "messages"});
    EXPECT_TRUE(it.done());
    ASSERT_TRUE(it.error());
    EXPECT_EQ(it.error()->status(), status);
    EXPECT_EQ(it.error()->code(), code);
    EXPECT_EQ(it.error()->retry_after() > 0, status == 503);
    EXPECT_EQ(it.take_stream(), "");
  }
}

TEST(answer, a_failure_after_the_start_is_an_error_event_and_the_end) {
  auto job = job_of(generation_kind::completion);
  job.stream = true;
  auto it = make(job);
  it.apply(started());
  it.apply(piece("a"));
  it.apply(actors::failed{"r0", actors::failure::timeout, "too slow", ""});
  it.apply(piece("never"));
  const auto stream = it.take_stream();
  EXPECT_TRUE(stream.ends_with(
      "event: error\ndata: {\"error\":{\"message\":\"too slow\",\"type\":"
      "\"server_error\",\"param\":null,\"code\":\"timeout\"}}\n\n"))
      << stream;
  EXPECT_EQ(stream.find("never"), std::string::npos);
}

}  // namespace
}  // namespace vouch::http
