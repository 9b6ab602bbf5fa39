#include "bench/http/load.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "bench/http/event_reader.hpp"
#include "tests/http/served_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::bench {
namespace {

namespace net = boost::asio;

load_options options_for(std::uint16_t port) {
  load_options options;
  options.port = port;
  options.clients = 4;
  options.requests = 3;
  options.max_tokens = 10;
  options.prompts = varied_prompts(12, 5, "", false);
  return options;
}

TEST(load, every_request_runs_and_every_token_counts) {
  test::served_model it;
  for (const bool chat : {false, true}) {
    auto options = options_for(it.port());
    options.chat = chat;
    options.prompts = varied_prompts(12, 5, "", chat);
    const auto result = run_load(options);
    const auto report = summarize(result.clients, result.wall_s);
    EXPECT_EQ(report.at("requests").as_int64(), 12);
    EXPECT_EQ(report.at("errors").as_int64(), 0) << report;
    EXPECT_EQ(report.at("tokens").as_int64(), 120) << report;
    for (const auto& client : result.clients) {
      ASSERT_EQ(client.size(), 3U);
      for (const auto& request : client) {
        EXPECT_EQ(request.completion_tokens, 10);
        EXPECT_GT(request.prompt_tokens, 0);
        EXPECT_LE(request.sent, request.arrivals.front());
        EXPECT_LE(request.arrivals.back(), request.ended);
      }
    }
  }
}

TEST(load, a_refused_request_says_why) {
  test::served_model it;
  auto options = options_for(it.port());
  options.clients = 1;
  options.model = "another";
  const auto result = run_load(options);
  ASSERT_EQ(result.clients.at(0).size(), 1U);
  const auto& error = result.clients[0][0].error;
  EXPECT_NE(error.find("client 0, request 0: status 404"), std::string::npos)
      << error;
  EXPECT_NE(error.find("another"), std::string::npos) << error;
}

TEST(load, no_server_is_an_error_with_the_address) {
  auto options = options_for(1);
  try {
    run_load(options);
    FAIL() << "connected to port 1";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("127.0.0.1:1:"), std::string::npos)
        << error.what();
  }
}

// Answers one request a connection, then closes without having said so.
TEST(load, a_kept_connection_that_closes_is_opened_again) {
  net::io_context io;
  net::ip::tcp::acceptor acceptor{io, {net::ip::make_address("127.0.0.1"), 0}};
  int answered = 0;
  std::thread server{[&] {
    for (; answered < 3; ++answered) {
      net::ip::tcp::socket socket{io};
      acceptor.accept(socket);
      std::string in;
      net::read_until(socket, net::dynamic_buffer(in), "\"prompt\":");
      const std::string body =
          "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\n"
          "data: [DONE]\n\n";
      net::write(socket,
                 net::buffer("HTTP/1.1 200 OK\r\ncontent-length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body));
    }
  }};
  auto options = options_for(acceptor.local_endpoint().port());
  options.clients = 1;
  options.timeout_s = 20;
  const auto result = run_load(options);
  if (!result.clients.at(0).back().error.empty()) {
    server.detach();
    FAIL() << result.clients[0].back().error;
  }
  server.join();
  EXPECT_EQ(answered, 3);
  ASSERT_EQ(result.clients.at(0).size(), 3U);
  for (const auto& request : result.clients[0]) {
    EXPECT_EQ(request.error, "");
    EXPECT_EQ(request.arrivals.size(), 1U);
  }
}

TEST(event_reader, pieces_may_end_anywhere) {
  const std::string stream =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"
      "}]}\n\n: a comment\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\r\n\r\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,"
      "\"completion_tokens\":7}}\n\ndata: [DONE]\n\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    event_reader reader;
    reader.push(stream.substr(0, cut));
    reader.push(stream.substr(cut));
    EXPECT_EQ(reader.text_events(), 1U);
    EXPECT_EQ(reader.prompt_tokens(), 3);
    EXPECT_EQ(reader.completion_tokens(), 7);
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.error(), "");
  }
}

TEST(event_reader, a_reported_error_is_kept) {
  event_reader reader;
  reader.push("event: error\ndata: {\"error\":{\"message\":\"too late\"}}\n\n");
  EXPECT_NE(reader.error().find("too late"), std::string::npos);
}

TEST(report, the_window_is_where_all_clients_ran) {
  // Two tokens an event for the first client; the second starts later.
  request_record first;
  first.sent = 0;
  first.arrivals = {1, 2, 3, 4};
  first.completion_tokens = 8;
  request_record second;
  second.sent = 1;
  second.arrivals = {2, 3, 4, 5, 6};
  second.completion_tokens = 5;
  const auto report = summarize({{first}, {second}}, 8);
  EXPECT_EQ(report.at("tokens").as_int64(), 13);
  EXPECT_EQ(report.at("window_s").as_double(), 2);
  // After 2 and up to 4: two events of each.
  EXPECT_EQ(report.at("window_tokens_per_s").as_double(), 3);
  EXPECT_EQ(report.at("tokens_per_s").as_double(), 13.0 / 8);
  EXPECT_EQ(report.at("ttft_ms").at("median").as_double(), 1000);
  EXPECT_EQ(report.at("itl_ms").at("max").as_double(), 1000);
}

TEST(report, quantiles_are_by_nearest_rank) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 3, 2}, 0.99), 4);
}

TEST(prompts, bad_lines_are_named) {
  const test::temporary_folder folder;
  const auto file = (folder.path() / "prompts.jsonl").string();
  const auto error_of = [&](const std::string& text, bool chat) {
    std::ofstream{file} << text;
    try {
      read_prompts(file, chat);
    } catch (const std::runtime_error& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  EXPECT_EQ(error_of("\"one\"\n\n{\"prompt\": \"two\"}\n", false), "");
  EXPECT_EQ(error_of("{\"messages\": []}\n", true), "");
  EXPECT_NE(error_of("\"one\"\n{\"prompt\": 2}\n", false).find(file + ":2: "),
            std::string::npos);
  EXPECT_NE(error_of("{\"messages\": []}\n", false).find(":1: messages"),
            std::string::npos);
  EXPECT_NE(error_of("\n{\n", false).find(":2: not JSON"), std::string::npos);
  EXPECT_NE(error_of("\n", false).find("holds no prompt"), std::string::npos);
}

TEST(prompts, no_two_begin_alike) {
  const auto prompts = varied_prompts(3, 4, "-run1", false);
  ASSERT_EQ(prompts.size(), 3U);
  EXPECT_EQ(prompts[1].json.rfind("\"1-run1 ", 0), 0U) << prompts[1].json;
  EXPECT_NE(prompts[0].json.substr(8), prompts[1].json.substr(8));
}

}  // namespace
}  // namespace vouch::bench
