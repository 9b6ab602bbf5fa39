// Who may ask: keys, tenants, pages of other origins.

#include <string>

#include "tests/http/session_fixture.hpp"

namespace vouch::http {
namespace {

using test::ask;
using test::get;
using test::post;
using test::raw_client;

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

}  // namespace
}  // namespace vouch::http
