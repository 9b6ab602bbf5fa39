// How answers go out: streams, clients that leave, clients that read slowly.

#include <chrono>
#include <string>
#include <thread>

#include <boost/json.hpp>

#include "tests/http/session_fixture.hpp"

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::get;
using test::post;
using test::raw_client;

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
  each_way([](raw_client& client, test::scripted_generation& item, bool) {
    client.close();
    EXPECT_TRUE(eventually([&] { return item.let_go.load(); }, 2s));
  });
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
  each_way([](raw_client& client, test::scripted_generation& item, bool begun) {
    client.half_close();
    std::this_thread::sleep_for(200ms);
    EXPECT_FALSE(item.let_go);
    if (!begun) item.start();
    item.text("whole", "stop");
    item.finish();
    const auto response = client.read();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_NE(response->body.find("whole"), std::string::npos);
    EXPECT_TRUE(client.at_end());
  });
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

}  // namespace
}  // namespace vouch::http
