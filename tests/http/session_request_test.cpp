// How requests are read: bodies, limits, and what is no request.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/http/session_fixture.hpp"

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
using test::ask;
using test::eventually;
using test::get;
using test::post;
using test::raw_client;

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
  // So is one that does not tell its length, when it has come too far.
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

TEST_F(session_test, a_body_that_is_only_promised_takes_no_share) {
  settings.server.max_body_bytes = 2000;
  settings.server.max_body_bytes_in_flight = 3000;
  serve();
  const auto padded = std::string(1900, ' ') + R"({"prompt":"a"})";
  const auto whole = post("/tokenize", padded);
  std::vector<std::unique_ptr<raw_client>> promising;
  for (int i = 0; i < 4; ++i) {
    promising.push_back(std::make_unique<raw_client>(port));
    promising.back()->send(whole.substr(0, whole.size() - padded.size() + 100));
  }
  ASSERT_TRUE(eventually([&] { return it->connections() == 4; }));
  EXPECT_EQ(ask(port, whole).status, 200);
  promising.front()->send(padded.substr(100));
  EXPECT_EQ(promising.front()->read()->status, 200);
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

}  // namespace
}  // namespace vouch::http
