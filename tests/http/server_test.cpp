// The whole way: real sockets, the runtime's actors, a fake executor.

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

TEST(server, a_stream_equals_the_whole_answer) {
  served_model it;
  for (const double temperature : {0.0, 1.0}) {
    for (const auto* content : {"hello", "a longer prompt, about foxes"}) {
      auto chat = chat_body(content);
      auto completion = completion_body(content);
      for (auto* body : {&chat, &completion}) {
        (*body)["temperature"] = temperature;
        (*body)["seed"] = 7;
      }
      EXPECT_EQ(joined(it.deltas(chat_route, chat)), it.text(chat_route, chat));
      EXPECT_EQ(joined(it.deltas(completion_route, completion)),
                it.text(completion_route, completion));
    }
  }
}

TEST(server, a_drawn_seed_is_reported_and_repeats_the_text) {
  served_model it;
  auto body = completion_body("hello");
  body["temperature"] = 1;
  const auto first = it.ask(post(completion_route, json::serialize(body)));
  body["seed"] = std::stoll(first.headers.at("x-vouch-seed"));
  const auto answer = json::parse(first.body);
  EXPECT_EQ(answer.at("seed"), body.at("seed"));
  EXPECT_EQ(it.text(completion_route, body),
            json::value_to<std::string>(answer.at("choices").at(0).at("text")));
}

TEST(server, a_stop_token_of_the_request_is_a_number) {
  served_model it{saying("abc")};
  auto body = completion_body("hi");
  body["stop_token_ids"] = json::array{'c'};
  const auto answer = it.json(completion_route, json::serialize(body));
  const auto& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("text"), "ab");
  EXPECT_EQ(choice.at("stop_reason"), 'c');
}

TEST(server, a_template_error_is_the_same_in_chat_and_apply_template) {
  served_model it;
  const std::string body =
      R"({"messages":[{"role":"user","content":"x"}],)"
      R"("chat_template_kwargs":{"fail":"not like this"}})";
  const auto chat = it.ask(post(chat_route, body));
  const auto rendered = it.ask(post("/apply-template", body));
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(rendered.status, 400);
  EXPECT_NE(chat.body.find("not like this"), std::string::npos) << chat.body;
  EXPECT_EQ(chat.body, rendered.body);
}

TEST(server, sixty_four_streams_at_once_equal_each_alone) {
  test::fake_executor_options options;
  options.delay = 300us;
  served_model it{options};
  std::vector<json::object> bodies;
  std::vector<std::string> alone;
  for (int i = 0; i < 64; ++i) {
    auto body = completion_body("client " + std::to_string(i * i));
    body["max_tokens"] = 64 + i;
    if (i % 2) {
      body["temperature"] = 0.9;
      body["seed"] = i;
    }
    bodies.push_back(body);
    alone.push_back(it.text(completion_route, body));
  }
  std::vector<std::string> together(64);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 64; ++i) {
    threads.emplace_back([&, i] {
      together[i] = joined(it.deltas(completion_route, bodies[i]));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  EXPECT_TRUE(eventually([&] { return it.at_rest(); }));
}

TEST(server, choices_and_prompts_come_in_order) {
  served_model it;
  const auto answer = it.json(
      completion_route,
      R"({"prompt":["aa","bb"],"n":2,"max_tokens":8,"seed":3,"echo":true})");
  const auto& choices = answer.at("choices").as_array();
  ASSERT_EQ(choices.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(choices[i].at("index").to_number<std::size_t>(), i);
    const std::string text = choices[i].at("text").as_string().c_str();
    EXPECT_TRUE(text.starts_with(i < 2 ? "aa" : "bb")) << text;
  }
  EXPECT_NE(choices[0].at("text"), choices[1].at("text"));
  EXPECT_EQ(answer.at("usage").at("completion_tokens").as_int64(), 32);
}

TEST(server, logprobs_have_a_place_for_every_token) {
  served_model it;
  auto body = completion_body("hi");
  body["logprobs"] = 2;
  body["echo"] = true;
  const auto answer = it.json(completion_route, json::serialize(body));
  const auto& logprobs = answer.at("choices").at(0).at("logprobs");
  // <s>, "h", "i" and 40 more.
  EXPECT_EQ(logprobs.at("tokens").as_array().size(), 43u);
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("token_logprobs").at(1).is_double());
  auto chat = chat_body("hi");
  chat["logprobs"] = true;
  EXPECT_EQ(it.json(chat_route, json::serialize(chat))
                .at("choices")
                .at(0)
                .at("logprobs")
                .at("content")
                .as_array()
                .size(),
            40u);
}

TEST(server, a_full_queue_is_a_503_with_retry_after) {
  test::fake_executor_options options;
  options.delay = 2ms;
  runtime::config settings;
  settings.policy.limits.max_running = 1;
  settings.policy.limits.max_queued_requests = 1;
  served_model it{options, settings};
  auto body = completion_body("busy");
  body["max_tokens"] = 1000;
  body["stream"] = true;
  const auto request = post(completion_route, json::serialize(body));
  raw_client first{it.port()};
  first.send(request);
  first.read_until("\"text\"");
  raw_client second{it.port()};
  second.send(request);
  EXPECT_TRUE(eventually([&] { return it.model().stats().waiting == 1; }));
  const auto refused = it.ask(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(json::parse(refused.body).at("error").at("code"), "queue_full");
}

TEST(server, a_request_timeout_ends_in_504_or_an_error_event) {
  test::fake_executor_options options;
  options.delay = 5ms;
  runtime::config settings;
  settings.policy.limits.request_timeout = 0.2;
  served_model it{options, settings};
  auto body = completion_body("slow");
  body["max_tokens"] = 1000;
  EXPECT_EQ(it.ask(post(completion_route, json::serialize(body))).status, 504);
  body["stream"] = true;
  const auto stream = it.ask(post(completion_route, json::serialize(body)));
  EXPECT_EQ(stream.status, 200);
  EXPECT_NE(stream.body.find("event: error\n"), std::string::npos);
  EXPECT_EQ(stream.body.find("[DONE]"), std::string::npos);
}

TEST(server, draining_refuses_new_work_and_ends_the_old) {
  test::fake_executor_options options;
  options.delay = 1ms;
  served_model it{options};
  auto body = completion_body("running");
  body["max_tokens"] = 300;
  std::string text;
  std::jthread client{[&] { text = it.text(completion_route, body); }};
  EXPECT_TRUE(eventually([&] { return it.model().stats().running == 1; }));
  std::jthread drainer{[&] { EXPECT_TRUE(it.model().drain(20s)); }};
  EXPECT_TRUE(
      eventually([&] { return it.ask(test::get("/ready")).status == 503; }));
  EXPECT_EQ(it.ask(post(completion_route, json::serialize(body))).status, 503);
  EXPECT_EQ(it.ask(test::get("/health")).status, 200);
  drainer.join();
  client.join();
  EXPECT_FALSE(text.empty());
  EXPECT_TRUE(it.server().drain(10s));
  it.server().stop();
}

TEST(server, serves_metrics) {
  served_model it;
  it.text(completion_route, completion_body("hi"));
  const auto response = it.ask(test::get("/metrics"));
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.headers.at("content-type").starts_with("text/plain"));
  EXPECT_NE(response.body.find("vouch_generation_tokens_total 40"),
            std::string::npos);
}

}  // namespace
}  // namespace vouch::http
