#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "http/server.hpp"
#include "tests/http/raw_client.hpp"
#include "tests/http/scripted_backend.hpp"

// The server over real sockets, with a backend that the test plays by hand.

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::eventually;
using test::get;
using test::post;
using test::raw_client;

const std::string hello = R"({"prompt":"hi"})";
const std::string hello_stream = R"({"prompt":"hi","stream":true})";

struct session_test : testing::Test {
  session_test() {
    spdlog::set_level(spdlog::level::off);
    settings.server.port = 0;
    settings.server.host = "127.0.0.1";
  }

  void serve() {
    auto owned = std::make_unique<test::scripted_backend>();
    side = owned.get();
    it = std::make_unique<server>(std::move(owned), settings);
    port = it->start();
  }

  // Plays one short answer.
  void play(std::size_t number, const std::string& text = "ok") {
    const auto item = side->wait_for(number);
    item->start();
    item->text(text, "stop");
    item->finish();
  }

  std::string error_code(const test::raw_response& response) {
    return boost::json::parse(response.body)
        .at("error")
        .at("code")
        .as_string()
        .c_str();
  }

  runtime::config settings;
  test::scripted_backend* side = nullptr;
  std::unique_ptr<server> it;
  std::uint16_t port = 0;
};

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

TEST_F(session_test, takes_split_writes_and_chunked_bodies) {
  serve();
  raw_client client{port};
  client.send_slowly(post("/tokenize", R"({"prompt":"ab"})"));
  EXPECT_EQ(client.read()->status, 200);
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
      "Content-Type: application/json\r\n\r\n5\r\n{\"pro\r\nb\r\n"
      "mpt\":\"abc\"}\r\n0\r\n\r\n");
  EXPECT_NE(client.read()->body.find("[97,98,99]"), std::string::npos);
}

TEST_F(session_test, heads_have_no_body_and_old_clients_close) {
  serve();
  raw_client client{port};
  client.send("HEAD /health HTTP/1.1\r\nHost: t\r\n\r\n");
  const auto head = client.read(20s, true);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->headers.at("content-length"), "15");
  client.send("OPTIONS /health HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(client.read()->headers.at("allow"), "GET, HEAD, OPTIONS");
  raw_client old{port};
  old.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read()->status, 200);
  EXPECT_TRUE(old.at_end());
}

TEST_F(session_test, bounds_header_and_body) {
  settings.server.max_header_bytes = 2048;
  settings.server.max_body_bytes = 1000;
  serve();
  EXPECT_EQ(
      ask(port, get("/health", "x: " + std::string(4000, 'a') + "\r\n")).status,
      431);
  EXPECT_EQ(
      ask(port, get("/health", "x: " + std::string(400'000, 'a') + "\r\n"))
          .status,
      431);
  const auto large =
      ask(port, post("/v1/completions", std::string(2'000'000, ' ') + hello));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.headers.at("connection"), "close");
  EXPECT_EQ(error_code(large), "body_too_large");
  std::string chunks;
  for (int i = 0; i < 20; ++i)
    chunks += "64\r\n" + std::string(100, ' ') + "\r\n";
  EXPECT_EQ(ask(port,
                "POST /tokenize HTTP/1.1\r\nHost: t\r\n"
                "Transfer-Encoding: chunked\r\n\r\n" +
                    chunks + "0\r\n\r\n")
                .status,
            413);
}

TEST_F(session_test, bounds_the_bodies_of_all_requests_together) {
  settings.server.max_body_bytes = 2000;
  settings.server.max_body_bytes_in_flight = 3000;
  serve();
  const auto padded = std::string(1900, ' ') + hello;
  raw_client first{port};
  first.send(post("/v1/completions", padded));
  const auto running = side->wait_for(0);
  running->start();

  const auto second = ask(port, post("/v1/completions", padded));
  EXPECT_EQ(second.status, 503);
  EXPECT_EQ(error_code(second), "queue_full");
  EXPECT_EQ(second.headers.at("retry-after"), "1");
  EXPECT_EQ(second.headers.at("connection"), "close");
  EXPECT_NE(second.body.find("max_body_bytes_in_flight"), std::string::npos);
  // A body that does not tell its length takes its share as it comes.
  const auto chunked = ask(port,
                           "POST /tokenize HTTP/1.1\r\nHost: t\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n640\r\n" +
                               std::string(1600, ' ') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.status, 503);
  // Small ones fit beside it; both refused ones gave back what they had.
  EXPECT_EQ(
      ask(port, post("/tokenize", std::string(800, ' ') + R"({"prompt":"a"})"))
          .status,
      200);

  // An answer's end gives its share back, on a kept connection too.
  running->text("ok", "stop");
  running->finish();
  EXPECT_EQ(first.read()->status, 200);
  for (std::size_t i = 1; i < 4; ++i) {
    first.send(post("/v1/completions", padded));
    play(i);
    EXPECT_EQ(first.read()->status, 200);
  }
  // So does a client that leaves.
  first.send(post("/v1/completions", padded));
  side->wait_for(4);
  first.reset();
  raw_client last{port};
  ASSERT_TRUE(eventually([&] { return it->connections() == 1; }));
  last.send(post("/v1/completions", padded));
  play(5);
  EXPECT_EQ(last.read()->status, 200);
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

TEST_F(session_test, refuses_what_is_not_http) {
  serve();
  for (const auto* garbage :
       {"nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\r\n\r\n",
        "GET /health HTTP/1.1\r\nbad header\r\n\r\n",
        "POST /tokenize HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    const auto response = ask(port, garbage);
    EXPECT_EQ(response.status, 400) << garbage;
    EXPECT_TRUE(response.headers.contains("x-request-id"));
  }
  EXPECT_EQ(ask(port, get("/health")).status, 200);
}

TEST_F(session_test, expectation_is_answered_before_the_body) {
  serve();
  raw_client client{port};
  const std::string body = R"({"prompt":"ab"})";
  const auto request = post("/tokenize", body, "Expect: 100-continue\r\n");
  client.send(request.substr(0, request.size() - body.size()));
  EXPECT_NE(client.read_until("100 Continue\r\n\r\n").find("100 Continue"),
            std::string::npos);
  client.send(body);
  const auto response = client.read();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->interim, 1);
  // What is refused anyway is refused before the body.
  raw_client wrong{port};
  const auto refused = post("/nope", body, "Expect: 100-continue\r\n");
  wrong.send(refused.substr(0, refused.size() - body.size()));
  EXPECT_EQ(wrong.read()->status, 404);
  raw_client odd{port};
  odd.send(post("/tokenize", body, "Expect: a-miracle\r\n"));
  EXPECT_EQ(odd.read()->status, 417);
}

TEST_F(session_test, a_slow_request_is_cut_and_an_idle_connection_closed) {
  settings.server.idle_timeout = 0.3;
  serve();
  raw_client idle{port};
  EXPECT_TRUE(idle.at_end(5s));
  raw_client slow_head{port};
  slow_head.send("GET /health HT");
  EXPECT_EQ(slow_head.read()->status, 408);
  raw_client slow_body{port};
  slow_body.send(post("/tokenize", hello).substr(0, 100));
  EXPECT_EQ(slow_body.read()->status, 408);
  // A generation is not an idle connection.
  raw_client waiting{port};
  waiting.send(post("/v1/completions", hello));
  const auto item = side->wait_for(0);
  std::this_thread::sleep_for(500ms);
  EXPECT_FALSE(item->let_go);
  play(0);
  EXPECT_EQ(waiting.read()->status, 200);
}

TEST_F(session_test, a_steady_upload_may_outlast_the_idle_timeout) {
  settings.server.idle_timeout = 1;
  serve();
  const auto request = post("/tokenize", hello + std::string(20'000, ' '));
  raw_client steady{port};
  for (std::size_t i = 0; i < request.size(); i += 1024) {
    steady.send(request.substr(i, 1024));
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(steady.read()->status, 200);
  // A byte now and then keeps neither a body nor a header open.
  for (const auto& start : {request.substr(0, 1024), std::string{"GET /he"}}) {
    raw_client drip{port};
    drip.send(start);
    std::optional<test::raw_response> response;
    // What came at once is worth a second at the least rate.
    for (int i = 0; i < 50 && !response; ++i) {
      drip.send(" ");
      response = drip.read(100ms);
    }
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 408);
  }
}

TEST_F(session_test, an_idle_time_does_not_count_for_the_next_header) {
  settings.server.idle_timeout = 2;
  serve();
  raw_client client{port};
  std::this_thread::sleep_for(1300ms);
  client.send("GET /health HT");
  std::this_thread::sleep_for(1300ms);
  client.send("TP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(client.read()->status, 200);
}

TEST_F(session_test, a_large_body_is_checked_on_a_worker) {
  serve();
  EXPECT_EQ(ask(port, post("/tokenize", hello)).status, 200);
  const auto io = side->checked_on.load();
  EXPECT_EQ(ask(port, post("/tokenize", hello)).status, 200);
  EXPECT_EQ(side->checked_on.load(), io);
  EXPECT_EQ(
      ask(port, post("/tokenize", hello + std::string(100'000, ' '))).status,
      200);
  EXPECT_NE(side->checked_on.load(), io);
}

TEST_F(session_test, refuses_what_a_proxy_might_read_otherwise) {
  serve();
  const std::string body = R"({"prompt":"ab"})";
  const std::string chunks = "f\r\n" + body + "\r\n0\r\n\r\n";
  const std::string start = "POST /tokenize HTTP/1.1\r\n";
  for (const auto& request : {
           start + "Host: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" +
               chunks,
           start + "Host: t\r\nTransfer-Encoding: chunked;q=1\r\n\r\n" + chunks,
           start +
               "Host: t\r\nTransfer-Encoding: identity\r\n"
               "Content-Length: 15\r\n\r\n" +
               body,
           start +
               "Host: t\r\nTransfer-Encoding: chunked\r\n"
               "Content-Length: 15\r\n\r\n" +
               chunks,
           start +
               "Host: t\r\nContent-Length: 15\r\nContent-Length: 14\r\n\r\n" +
               body,
           "POST /tokenize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" +
               chunks,
           start + "Content-Length: 15\r\n\r\n" + body,
           start + "Host: t\r\nHost: u\r\nContent-Length: 15\r\n\r\n" + body,
       }) {
    SCOPED_TRACE(request);
    raw_client client{port};
    client.send(request + get("/health"));
    const auto response = client.read();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 400);
    EXPECT_EQ(error_code(*response), "bad_request");
    EXPECT_TRUE(client.at_end());
  }
  // One empty line before a request is not an error.
  raw_client old{port};
  old.send(post("/tokenize", body) + "\r\n" + get("/health"));
  EXPECT_EQ(old.read()->status, 200);
  EXPECT_EQ(old.read()->status, 200);
}

TEST_F(session_test, bounds_what_stands_between_chunks) {
  serve();
  raw_client client{port};
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
      "\r\nf;a=" +
      std::string(4 << 20, 'b'));
  EXPECT_EQ(client.read()->status, 431);
}

TEST_F(session_test, pages_of_other_origins_get_nothing_by_default) {
  settings.server.api_keys = {"secret"};
  serve();
  const std::string preflight =
      "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: t\r\n"
      "Origin: http://ui\r\nAccess-Control-Request-Method: POST\r\n\r\n";
  const auto refused = ask(port, preflight);
  EXPECT_EQ(refused.status, 401);
  EXPECT_FALSE(refused.headers.contains("access-control-allow-origin"));
  EXPECT_FALSE(refused.headers.contains("vary"));
}

TEST_F(session_test, pages_of_allowed_origins_may_ask) {
  settings.server.api_keys = {"secret"};
  settings.server.cors_origins = {"http://ui", "https://ui:8000"};
  serve();
  const auto preflight = [&](const std::string& origin) {
    return ask(port,
               "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: t\r\nOrigin: " +
                   origin +
                   "\r\nAccess-Control-Request-Method: POST\r\n"
                   "Access-Control-Request-Headers: authorization,x-stainless-"
                   "os\r\n\r\n");
  };
  const auto allowed = preflight("https://ui:8000");
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(allowed.headers.at("access-control-allow-origin"),
            "https://ui:8000");
  EXPECT_EQ(allowed.headers.at("access-control-allow-headers"),
            "authorization,x-stainless-os");
  EXPECT_EQ(allowed.headers.at("vary"), "origin");
  const auto other = preflight("http://evil");
  EXPECT_EQ(other.status, 401);
  EXPECT_FALSE(other.headers.contains("access-control-allow-origin"));
  // Answers carry it too, errors and streams alike; keys are still asked for.
  const std::string origin = "Origin: http://ui\r\n";
  const auto denied = ask(port, get("/v1/models", origin));
  EXPECT_EQ(denied.status, 401);
  EXPECT_EQ(denied.headers.at("access-control-allow-origin"), "http://ui");
  raw_client client{port};
  client.send(
      post("/v1/completions", hello_stream, origin + "x-api-key: secret\r\n"));
  play(0);
  const auto stream = client.read();
  EXPECT_EQ(stream->status, 200);
  EXPECT_EQ(stream->headers.at("access-control-allow-origin"), "http://ui");
}

TEST_F(session_test, a_star_allows_any_origin) {
  settings.server.cors_origins = {"*"};
  serve();
  const auto response = ask(port, get("/health", "Origin: null\r\n"));
  EXPECT_EQ(response.headers.at("access-control-allow-origin"), "*");
  EXPECT_FALSE(response.headers.contains("vary"));
}

// Whom the policy `fair` shares between.
TEST_F(session_test, a_key_is_one_tenant_and_without_keys_a_user_is) {
  settings.server.api_keys = {"first", "second"};
  serve();
  const auto tenant_of = [&](std::size_t number, const std::string& user,
                             const std::string& headers) {
    raw_client client{port};
    client.send(post("/v1/completions",
                     R"({"prompt":"hi","user":")" + user + "\"}", headers));
    const auto tenant = side->wait_for(number)->requests.at(0).tenant;
    play(number);
    EXPECT_EQ(client.read()->status, 200);
    return tenant;
  };
  const std::string first = "x-api-key: first\r\n";
  const auto ann = tenant_of(0, "ann", first);
  EXPECT_EQ(tenant_of(1, "bob", first), ann);
  EXPECT_NE(tenant_of(2, "ann", "x-api-key: second\r\n"), ann);
  it.reset();
  settings.server.api_keys = {};
  serve();
  EXPECT_EQ(tenant_of(0, "ann", ""), "ann");
  EXPECT_EQ(tenant_of(1, "bob", ""), "bob");
}

TEST_F(session_test, needs_a_key_when_keys_are_set) {
  settings.server.api_keys = {"secret"};
  serve();
  EXPECT_EQ(ask(port, get("/health")).status, 200);
  EXPECT_EQ(ask(port, get("/ready")).status, 200);
  const auto denied = ask(port, get("/v1/models"));
  EXPECT_EQ(denied.status, 401);
  EXPECT_EQ(denied.headers.at("www-authenticate"), "Bearer");
  EXPECT_EQ(error_code(denied), "invalid_api_key");
  EXPECT_EQ(
      ask(port, get("/v1/models", "Authorization: bearer secret\r\n")).status,
      200);
  EXPECT_EQ(ask(port, get("/v1/models", "x-api-key: secret\r\n")).status, 200);
  EXPECT_EQ(ask(port, get("/v1/models", "x-api-key: secre\r\n")).status, 401);
  // A small refused body leaves the connection usable.
  raw_client client{port};
  client.send(post("/v1/completions", hello));
  EXPECT_EQ(client.read()->status, 401);
  client.send(get("/health"));
  EXPECT_EQ(client.read()->status, 200);
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

TEST_F(session_test, the_200_waits_for_the_start) {
  serve();
  raw_client client{port};
  client.send(post("/v1/completions", hello_stream));
  const auto item = side->wait_for(0);
  item->fail(actors::failure::queue_full, "full");
  const auto refused = client.read();
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->headers.at("retry-after"), "1");
  client.send(post("/v1/completions", hello_stream));
  const auto next = side->wait_for(1);
  next->start();
  EXPECT_NE(client.read_until("\r\n\r\n").find("200 OK"), std::string::npos);
  next->text("a");
  next->fail(actors::failure::internal, "broke");
  const auto stream = client.read();
  EXPECT_EQ(stream->headers.at("content-type"),
            "text/event-stream; charset=utf-8");
  EXPECT_TRUE(stream->headers.contains("x-vouch-seed"));
  EXPECT_NE(stream->body.find("event: error\n"), std::string::npos);
  EXPECT_EQ(stream->body.find("[DONE]"), std::string::npos);
  client.send(get("/health"));
  EXPECT_EQ(client.read()->status, 200);
}

TEST_F(session_test, streams_to_old_clients_until_the_close) {
  serve();
  raw_client client{port};
  auto request = post("/v1/completions", hello_stream);
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  client.send(request);
  play(0, "text");
  const auto response = client.read();
  EXPECT_FALSE(response->headers.contains("transfer-encoding"));
  EXPECT_EQ(test::sse_data(response->body).back(), "[DONE]");
}

TEST_F(session_test, a_reset_cancels_streaming_or_not) {
  serve();
  std::size_t number = 0;
  for (const bool streaming : {false, true}) {
    for (const bool begun : {false, true}) {
      raw_client client{port};
      client.send(post("/v1/completions", streaming ? hello_stream : hello));
      const auto item = side->wait_for(number++);
      if (begun) item->start();
      client.reset();
      EXPECT_TRUE(eventually([&] { return item->let_go.load(); }, 2s));
    }
  }
  EXPECT_TRUE(eventually([&] { return it->connections() == 0; }));
}

TEST_F(session_test, a_close_cancels_streaming_or_not) {
  serve();
  std::size_t number = 0;
  for (const bool streaming : {false, true}) {
    for (const bool begun : {false, true}) {
      raw_client client{port};
      client.send(post("/v1/completions", streaming ? hello_stream : hello));
      const auto item = side->wait_for(number++);
      if (begun) {
        item->start();
        if (streaming) client.read_until("\r\n\r\n");
      }
      client.close();
      EXPECT_TRUE(eventually([&] { return item->let_go.load(); }, 2s))
          << streaming << begun;
    }
  }
}

TEST_F(session_test, a_close_behind_a_pipelined_request_cancels_too) {
  serve();
  raw_client client{port};
  client.send(post("/v1/completions", hello));
  const auto item = side->wait_for(0);
  client.send(get("/health"));
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(item->let_go);
  client.close();
  EXPECT_TRUE(eventually([&] { return item->let_go.load(); }, 2s));
}

TEST_F(session_test, a_half_close_alone_does_not_cancel) {
  serve();
  std::size_t number = 0;
  for (const bool streaming : {false, true}) {
    for (const bool begun : {false, true}) {
      raw_client client{port};
      client.send(post("/v1/completions", streaming ? hello_stream : hello));
      const auto item = side->wait_for(number++);
      if (begun) {
        item->start();
        if (streaming) client.read_until("\r\n\r\n");
      }
      client.half_close();
      std::this_thread::sleep_for(200ms);
      EXPECT_FALSE(item->let_go);
      if (!begun) item->start();
      item->text("whole", "stop");
      item->finish();
      const auto response = client.read();
      ASSERT_TRUE(response) << streaming << begun;
      EXPECT_EQ(response->status, 200);
      EXPECT_NE(response->body.find("whole"), std::string::npos);
      EXPECT_TRUE(client.at_end());
    }
  }
}

TEST_F(session_test, a_reader_that_stops_is_cut_by_bytes) {
  settings.server.max_pending_write_bytes = 64 << 10;
  serve();
  raw_client client{port, 4096};
  client.send(post("/v1/completions", hello_stream));
  const auto item = side->wait_for(0);
  item->start();
  const std::string piece(16 << 10, 'x');
  bool cut = false;
  for (int i = 0; i < 2000 && !cut; ++i) {
    item->text(piece);
    std::this_thread::sleep_for(200us);
    cut = item->let_go;
  }
  EXPECT_TRUE(eventually([&] { return item->let_go.load(); }, 5s));
  EXPECT_TRUE(eventually([&] { return it->connections() == 0; }));
}

TEST_F(session_test, a_reader_that_stops_is_cut_by_time) {
  settings.server.write_timeout = 0.3;
  settings.server.max_pending_write_bytes = 64 << 20;
  serve();
  raw_client client{port, 4096};
  client.send(post("/v1/completions", hello_stream));
  const auto item = side->wait_for(0);
  item->start();
  const std::string piece(16 << 10, 'x');
  for (int i = 0; i < 300; ++i) item->text(piece);
  EXPECT_TRUE(eventually([&] { return item->let_go.load(); }, 5s));
}

TEST_F(session_test, a_slow_reader_of_a_large_answer_is_not_cut) {
  settings.server.write_timeout = 1;
  serve();
  raw_client client{port, 16 << 10};
  client.send(post("/v1/completions", hello));
  const std::string text(8 << 20, 'x');
  std::jthread player{[&] { play(0, text); }};
  // At most 4 MB/s: more than two timeouts.
  std::string got;
  while (got.find("\"seed\":") == std::string::npos) {
    const auto piece = client.read_bytes(16 << 10);
    ASSERT_FALSE(piece.empty()) << got.size();
    got = got.size() < 64 ? got + piece : got.substr(got.size() - 64) + piece;
    std::this_thread::sleep_for(4ms);
  }
}

TEST_F(session_test, one_event_larger_than_the_limit_is_no_slow_reader) {
  settings.server.max_pending_write_bytes = 64 << 10;
  serve();
  raw_client client{port, 4096};
  client.send(post("/v1/completions", hello_stream));
  const auto item = side->wait_for(0);
  item->start();
  item->text(std::string(40 << 10, 'a'));  // is being written ...
  item->text(std::string(4 << 20, 'b'));   // ... when this one comes
  item->text("", "stop");
  item->finish();
  const auto response = client.read();
  EXPECT_GT(response->body.size(), std::size_t{4} << 20);
  EXPECT_NE(response->body.find("[DONE]"), std::string::npos);
}

TEST_F(session_test, deltas_that_wait_go_out_together) {
  serve();
  raw_client client{port};
  client.send(post("/v1/completions", hello_stream));
  const auto item = side->wait_for(0);
  item->start();
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const auto piece = std::to_string(i) + " ";
    item->text(piece);
    expected += piece;
  }
  item->text("", "stop");
  item->finish();
  const auto response = client.read();
  std::string text;
  for (const auto& data : test::sse_data(response->body)) {
    if (data == "[DONE]") break;
    text += boost::json::parse(data)
                .at("choices")
                .at(0)
                .at("text")
                .as_string()
                .c_str();
  }
  EXPECT_EQ(text, expected);
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

TEST_F(session_test, serves_a_port_once) {
  serve();
  settings.server.port = port;
  server second{std::make_unique<test::scripted_backend>(), settings};
  EXPECT_THROW(second.start(), std::exception);
}

}  // namespace
}  // namespace vouch::http
