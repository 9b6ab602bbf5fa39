#pragma once

#include <memory>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "http/server.hpp"
#include "tests/http/raw_client.hpp"
#include "tests/http/scripted_backend.hpp"

// The server over real sockets, with a backend that the test plays by hand.

namespace vouch::http {

inline const std::string hello = R"({"prompt":"hi"})";
inline const std::string hello_stream = R"({"prompt":"hi","stream":true})";

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

  // A request of each kind, streaming or not, begun or not.
  template <class Then>
  void each_way(Then then) {
    std::size_t number = 0;
    for (const bool streaming : {false, true}) {
      for (const bool begun : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "streaming " << streaming << ", begun " << begun);
        test::raw_client client{port};
        client.send(
            test::post("/v1/completions", streaming ? hello_stream : hello));
        const auto item = side->wait_for(number++);
        if (begun) {
          item->start();
          if (streaming) client.read_until("\r\n\r\n");
        }
        then(client, *item, begun);
      }
    }
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

}  // namespace vouch::http
