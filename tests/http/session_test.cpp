// Routes, connections, and the life of a server.

#include <chrono>
#include <string>

#include "tests/http/session_fixture.hpp"

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::eventually;
using test::get;
using test::post;
using test::raw_client;

TEST_F(session_test, answers_the_small_routes) {
  serve();
  EXPECT_EQ(ask(port, get("/health")).status, 200);
  EXPECT_EQ(ask(port, get("/ready")).status, 200);
  const auto metrics = ask(port, get("/metrics")).body;
  EXPECT_TRUE(metrics.starts_with("vouch_up 1\n")) << metrics;
  EXPECT_NE(metrics.find("vouch_http_responses_total{code=\"200\"} 2\n"),
            std::string::npos)
      << metrics;
  EXPECT_EQ(ask(port, get("/v1/models/tiny")).status, 200);
  EXPECT_EQ(error_code(ask(port, get("/v1/models/other"))), "model_not_found");
  EXPECT_NE(ask(port, get("/version")).body.find("version"), std::string::npos);
  EXPECT_EQ(ask(port, post("/tokenize", R"({"prompt":"ab"})")).body,
            R"({"count":2,"max_model_len":128,"tokens":[97,98]})");
  EXPECT_EQ(ask(port, post("/detokenize", R"({"tokens":[97,98]})")).body,
            R"({"prompt":"ab"})");
  EXPECT_EQ(ask(port, post("/apply-template", R"({"messages":[{"role":"user",)"
                                              R"("content":"x"}]})"))
                .body,
            R"({"prompt":"<[{\"role\":\"user\",\"content\":\"x\"}]>"})");
  const auto missing = ask(port, get("/nope", "x-request-id: abc\r\n"));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.headers.at("x-request-id"), "abc");
  EXPECT_EQ(missing.headers.at("content-type"), "application/json");
}

TEST_F(session_test, tells_loading_and_draining_apart_from_ready) {
  serve();
  side->now = runtime::state::loading;
  const auto loading = ask(port, get("/ready"));
  EXPECT_EQ(loading.status, 503);
  EXPECT_EQ(loading.headers.at("retry-after"), "1");
  EXPECT_EQ(ask(port, get("/health")).status, 200);
  const auto refused = ask(port, post("/v1/completions", hello));
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(error_code(refused), "unavailable");
  side->now = runtime::state::draining;
  EXPECT_EQ(ask(port, get("/ready")).status, 503);
  side->now = runtime::state::failed;
  EXPECT_EQ(ask(port, get("/health")).status, 503);
}

TEST_F(session_test, keeps_connections_and_answers_pipelines_in_order) {
  serve();
  raw_client client{port};
  client.send(get("/health") + post("/v1/completions", hello) +
              get("/version"));
  EXPECT_EQ(client.read()->body, R"({"status":"ok"})");
  play(0, "one");
  EXPECT_NE(client.read()->body.find("one"), std::string::npos);
  EXPECT_NE(client.read()->body.find("version"), std::string::npos);
  client.send(get("/health", "Connection: close\r\n"));
  EXPECT_EQ(client.read()->headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
}

TEST_F(session_test, refuses_a_list_that_never_fits_the_queue) {
  serve();
  side->queue_places = 2;
  const auto refused =
      ask(port, post("/v1/completions", R"({"prompt":["a","b","c"]})"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("max_queued_requests"), std::string::npos);
  EXPECT_EQ(side->submitted(), 0U);
  raw_client client{port};
  client.send(post("/v1/completions", R"({"prompt":["a","b"],"n":3})"));
  EXPECT_EQ(side->wait_for(0)->requests.size(), 2U);
}

TEST_F(session_test, refuses_connections_beyond_the_limit) {
  settings.server.max_connections = 2;
  serve();
  raw_client a{port};
  raw_client b{port};
  a.send(get("/health"));
  EXPECT_EQ(a.read()->status, 200);
  b.send(get("/health"));
  EXPECT_EQ(b.read()->status, 200);
  raw_client c{port};
  const auto refused = c.read();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(error_code(*refused), "too_many_connections");
  c.close();
  a.close();
  EXPECT_TRUE(
      eventually([&] { return ask(port, get("/health")).status == 200; }));
}

TEST_F(session_test, draining_lets_answers_end_and_closes_idle_connections) {
  serve();
  raw_client idle{port};
  idle.send(get("/health"));
  EXPECT_EQ(idle.read()->status, 200);
  raw_client busy{port};
  busy.send(post("/v1/completions", hello));
  const auto item = side->wait_for(0);
  std::jthread drainer{[&] { EXPECT_TRUE(it->drain(10s)); }};
  EXPECT_TRUE(idle.at_end());
  EXPECT_FALSE(item->let_go);
  play(0);
  const auto response = busy.read();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.at("connection"), "close");
  busy.close();
  drainer.join();
  EXPECT_THROW(raw_client{port}, std::runtime_error);
}

TEST_F(session_test, stopping_cancels_what_runs) {
  serve();
  raw_client client{port};
  client.send(post("/v1/completions", hello));
  const auto item = side->wait_for(0);
  EXPECT_FALSE(it->drain(50ms));
  it->stop();
  EXPECT_TRUE(item->let_go);
  EXPECT_TRUE(client.at_end());
  // Late events find nobody.
  item->start();
  item->finish();
}

TEST_F(session_test, many_prompts_share_one_answer_and_one_seed) {
  serve();
  raw_client client{port};
  client.send(post("/v1/completions", R"({"prompt":["a","b"]})"));
  const auto item = side->wait_for(0);
  ASSERT_EQ(item->requests.size(), 2u);
  EXPECT_NE(item->requests[0].id, item->requests[1].id);
  EXPECT_TRUE(item->requests[0].has_seed);
  EXPECT_EQ(item->requests[0].sampling.seed, item->requests[1].sampling.seed);
  item->start();
  item->text("x", "stop");
  item->finish();
  const auto response = client.read();
  EXPECT_EQ(response->headers.at("x-vouch-seed"),
            std::to_string(item->requests[0].sampling.seed));
}

TEST_F(session_test, answers_say_what_stands_behind_them) {
  serve();
  engine::gate_snapshot vouched;
  vouched.id = "00ff";
  vouched.verdict = "equal";
  vouched.vouched_positions = 128;
  vouched.audit.share = 0.01;
  side->set_speculation(
      {nullptr, std::make_shared<const engine::gate_snapshot>(vouched)});
  engine::speculation_report tripped;
  tripped.verdict = "tripped";
  tripped.scope = "00ff";
  std::size_t number = 0;
  const auto ask = [&](const std::string& body) {
    raw_client client{port};
    client.send(post("/v1/completions", body));
    const auto item = side->wait_for(number++);
    item->start();
    item->text("x", "stop", tripped);
    item->finish();
    return client.read();
  };
  // A whole answer tells how it ended; a stream, what was in force.
  EXPECT_EQ(ask(hello)->headers.at("x-vouch-receipt"),
            "verdict=tripped; vouched=no; scope=00ff; audit=on; audited=0");
  const auto stream = ask(hello_stream);
  EXPECT_EQ(stream->headers.at("x-vouch-receipt"),
            "verdict=equal; vouched=yes; scope=00ff; audit=on");
  EXPECT_NE(stream->body.find(R"("speculation":{"verdict":"tripped")"),
            std::string::npos)
      << stream->body;
}

TEST_F(session_test, shows_speculation_and_its_gate) {
  serve();
  side->now = runtime::state::loading;
  raw_client client{port};
  client.send("GET /speculation HTTP/1.1\r\nhost: x\r\n\r\n");
  const auto response = client.read();
  EXPECT_EQ(response->status, 200);
  const auto body = boost::json::parse(response->body);
  EXPECT_EQ(body.at("verdict"), "not_run");
  EXPECT_TRUE(body.at("drafter").is_null());
}

TEST_F(session_test, serves_a_port_once) {
  serve();
  settings.server.port = port;
  server second{std::make_unique<test::scripted_backend>(), settings};
  EXPECT_THROW(second.start(), std::exception);
}

}  // namespace
}  // namespace vouch::http
