// The cases that every server of language models meets, the whole way: real
// sockets, the runtime's actors, a fake executor.

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/http/server_requests.hpp"

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
using test::eventually;
using test::joined;
using test::post;
using test::raw_client;
using test::served_model;

TEST(server, case_9_a_stop_string_never_leaks) {
  served_model it{saying("The quick brown fox jumps")};
  auto body = completion_body("hi");
  body["stop"] = "own fox";
  EXPECT_EQ(joined(it.deltas(completion_route, body)), "The quick br");
  EXPECT_EQ(it.text(completion_route, body), "The quick br");
  const auto answer = it.json(completion_route, json::serialize(body));
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(answer.at("choices").at(0).at("stop_reason"), "own fox");
  body["include_stop_str_in_output"] = true;
  EXPECT_EQ(it.text(completion_route, body), "The quick brown fox");
  body.erase("include_stop_str_in_output");
  // At the end of the stream what was held back comes out.
  body["max_tokens"] = 15;
  EXPECT_EQ(joined(it.deltas(completion_route, body)), "The quick brown");
  EXPECT_EQ(it.text(completion_route, body), "The quick brown");
  // Chat ends alike: its prompt is <|im_start|>user\nhi<|im_end|> and
  // <|im_start|>assistant\n, 20 tokens.
  auto options = saying("");
  std::vector<engine::token_id> tokens;
  for (const char c : std::string{"The quick brown fox"})
    tokens.push_back(static_cast<unsigned char>(c));
  options.pick = test::script(tokens, 20, test::fake_turn_end);
  served_model chat{options};
  auto message = chat_body("hi");
  message["stop"] = json::array{"nothing", "own fox"};
  EXPECT_EQ(joined(chat.deltas(chat_route, message)), "The quick br");
}

TEST(server, case_10_characters_split_over_tokens_stay_whole) {
  const std::string text =
      "\xF0\x9F\x98\x80 \xE6\xBC\xA2\xE5\xAD\x97 \xC5\x99\xC3\xADkal";
  served_model it{saying(text)};
  auto body = completion_body("hi");
  const auto deltas = it.deltas(completion_route, body);
  EXPECT_EQ(joined(deltas), text);
  EXPECT_EQ(it.text(completion_route, body), text);
  for (const auto& delta : deltas)
    EXPECT_EQ(delta.find("\xEF\xBF\xBD"), std::string::npos) << delta;
  // Cut inside the emoji: flushed once.
  body["max_tokens"] = 3;
  EXPECT_EQ(joined(it.deltas(completion_route, body)), "\xEF\xBF\xBD");
  EXPECT_EQ(it.text(completion_route, body), "\xEF\xBF\xBD");
}

TEST(server, case_11_usage_comes_when_asked_for) {
  served_model it;
  auto body = chat_body("hello");
  body["stream"] = true;
  const auto chunks = [&] {
    const auto response = it.ask(post(chat_route, json::serialize(body)));
    std::vector<json::value> list;
    for (const auto& data : test::sse_data(response.body))
      if (data != "[DONE]") list.push_back(json::parse(data));
    return list;
  };
  for (const auto& chunk : chunks()) {
    EXPECT_EQ(chunk.at("choices").as_array().size(), 1u);
    EXPECT_FALSE(chunk.as_object().contains("usage"));
  }
  body["stream_options"] = {{"include_usage", true}};
  const auto with = chunks();
  ASSERT_FALSE(with.empty());
  EXPECT_TRUE(with.back().at("choices").as_array().empty());
  EXPECT_EQ(with.back().at("usage").at("completion_tokens").as_int64(), 40);
  EXPECT_EQ(with.back().at("usage").at("total_tokens").as_int64(),
            40 + with.back().at("usage").at("prompt_tokens").as_int64());
  for (std::size_t i = 0; i + 1 < with.size(); ++i)
    EXPECT_TRUE(with[i].at("usage").is_null());
}

TEST(server, case_12_cold_equals_warm) {
  test::fake_executor_options options;
  options.limits.blocks = 1024;  // all of them fit
  served_model it{options};
  std::vector<std::string> prompts;
  for (int i = 0; i < 16; ++i) {
    std::string prompt;
    for (int j = 0; j < 512; ++j)
      prompt += static_cast<char>('a' + (i * 31 + j * j * 7 + j) % 26);
    prompts.push_back(prompt);
  }
  std::vector<std::string> cold;
  for (const auto& prompt : prompts)
    cold.push_back(it.text(completion_route, completion_body(prompt)));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto answer =
        it.json(completion_route, json::serialize(completion_body(prompts[i])));
    EXPECT_EQ(answer.at("choices").at(0).at("text").as_string(), cold[i]);
    EXPECT_GE(answer.at("usage")
                  .at("prompt_tokens_details")
                  .at("cached_tokens")
                  .as_int64(),
              496);
  }
}

TEST(server, case_13_a_thousand_aborted_streams_leave_nothing_behind) {
  test::fake_executor_options options;
  options.delay = 200us;
  served_model it{options};
  auto body = completion_body("the same few words");
  const auto alone = it.text(completion_route, body);
  body["stream"] = true;
  body["max_tokens"] = 1500;
  const auto request = post(completion_route, json::serialize(body));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 125; ++i) {
        raw_client client{it.port()};
        client.send(request);
        // Some leave before the head, some after a few events.
        if ((i + t) % 3 != 0) client.read_until("\"text\"");
        if (i % 2 == 0) {
          client.reset();
        } else {
          client.close();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(eventually([&] { return it.at_rest(); }));
  EXPECT_TRUE(eventually([&] { return it.server().connections() == 0; }));
  EXPECT_EQ(it.text(completion_route, completion_body("the same few words")),
            alone);
}

TEST(server, case_14_two_long_requests_in_a_small_pool) {
  test::fake_executor_options options;
  options.limits.blocks = 24;  // 384 tokens
  options.delay = 100us;
  auto first = completion_body("one prompt");
  auto second = completion_body("another prompt");
  first["max_tokens"] = second["max_tokens"] = 250;
  served_model roomy;
  served_model it{options};
  std::string texts[2];
  std::jthread other{
      [&] { texts[1] = joined(it.deltas(completion_route, second)); }};
  texts[0] = joined(it.deltas(completion_route, first));
  other.join();
  EXPECT_EQ(texts[0], roomy.text(completion_route, first));
  EXPECT_EQ(texts[1], roomy.text(completion_route, second));
  EXPECT_GT(it.model().stats().preemptions, 0u);
}

TEST(server, case_16_a_chat_sent_again_turn_after_turn) {
  served_model it;
  auto body = chat_body(std::string(100, 'q'));
  std::int64_t cached = -1;
  for (int turn = 0; turn < 4; ++turn) {
    auto again = served_model{};
    const auto answer = it.json(chat_route, json::serialize(body));
    const auto content = answer.at("choices").at(0).at("message").at("content");
    EXPECT_EQ(content.as_string(), again.text(chat_route, body));
    const auto hit = answer.at("usage")
                         .at("prompt_tokens_details")
                         .at("cached_tokens")
                         .as_int64();
    if (turn > 0) {
      EXPECT_GT(hit, 0);
      EXPECT_GE(hit, cached);
    }
    cached = hit;
    auto& messages = body["messages"].as_array();
    messages.push_back({{"role", "assistant"}, {"content", "fixed words"}});
    messages.push_back({{"role", "user"}, {"content", "and then?"}});
  }
}

TEST(server, case_17_odd_prompts) {
  served_model it;
  // The fake tokenizer puts a <s> in front: an empty prompt is one token.
  EXPECT_EQ(it.ask(post(completion_route, R"({"prompt":[""]})")).status, 200);
  const auto empty = it.ask(
      post(completion_route, R"({"prompt":[""],"add_special_tokens":false})"));
  EXPECT_EQ(empty.status, 400);
  EXPECT_EQ(json::parse(empty.body).at("error").at("param"), "prompt");
  const auto echo = it.json(
      completion_route, R"({"prompt":"say it","echo":true,"max_tokens":0})");
  EXPECT_EQ(echo.at("choices").at(0).at("text"), "say it");
  EXPECT_EQ(echo.at("usage").at("completion_tokens").as_int64(), 0);
  EXPECT_EQ(it.ask(post(chat_route, R"({"messages":[]})")).status, 400);
  const auto longer =
      it.ask(post(completion_route,
                  json::serialize(completion_body(std::string(5000, 'x')))));
  EXPECT_EQ(longer.status, 400);
  const auto error = json::parse(longer.body).at("error");
  EXPECT_EQ(error.at("code"), "context_length_exceeded");
  const std::string message = error.at("message").as_string().c_str();
  EXPECT_NE(message.find("5001"), std::string::npos) << message;
  EXPECT_NE(message.find("2048"), std::string::npos) << message;
}

TEST(server, case_18_bad_values_harm_nobody_else) {
  served_model it;
  const auto alone = it.text(completion_route, completion_body("steady"));
  auto body = completion_body("steady");
  std::jthread steady{[&] {
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(joined(it.deltas(completion_route, body)), alone);
  }};
  for (const auto* bad :
       {R"({"prompt":"a","temperature":999999})",
        R"({"prompt":"a","top_p":-1})",
        R"({"prompt":"a","presence_penalty":-9})", R"({"prompt":5})",
        "{:", R"({"prompt":[259]})", R"({"prompt":[-1]})",
        R"({"prompt":[4294967296]})", R"({"prompt":"a","n":"x"})"}) {
    const auto response = it.ask(post(completion_route, bad));
    EXPECT_EQ(response.status, 400) << bad;
    EXPECT_TRUE(json::parse(response.body).at("error").is_object());
    EXPECT_TRUE(response.headers.contains("x-request-id"));
  }
  steady.join();
}

TEST(server, case_19_a_huge_max_tokens_is_accepted) {
  served_model it{saying("short")};
  auto body = completion_body("hi");
  body["max_tokens"] = 2147483648;
  EXPECT_EQ(it.text(completion_route, body), "short");
}

TEST(server, case_20_a_spelled_out_marker_is_text) {
  served_model it;
  const auto tokens = [&](const std::string& content) {
    return it.json(chat_route, json::serialize(chat_body(content)))
        .at("usage")
        .at("prompt_tokens")
        .as_int64();
  };
  EXPECT_EQ(tokens("<|im_end|>") - tokens(""), 10);
  // A whole prompt's author plays the template's part; /tokenize tells what
  // /v1/completions will see, unless it is told not to.
  const auto count = [&](const std::string& body) {
    return it.json("/tokenize", body).at("count").as_int64();
  };
  auto body = completion_body("<|im_end|>");
  const auto usage = it.json(completion_route, json::serialize(body));
  EXPECT_EQ(usage.at("usage").at("prompt_tokens").as_int64(), 2);
  EXPECT_EQ(count(R"({"prompt":"<|im_end|>"})"), 2);
  EXPECT_EQ(count(R"({"prompt":"<|im_end|>","parse_special":false})"), 11);
  EXPECT_EQ(count(R"({"prompt":"<|im_end|>","add_special_tokens":false})"), 1);
}

}  // namespace
}  // namespace vouch::http
