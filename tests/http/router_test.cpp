#include "http/router.hpp"

#include <string>

#include <gtest/gtest.h>

#include "http/text.hpp"

namespace vouch::http {
namespace {

request_head get(const std::string& target) {
  return {"GET", target, "", "", ""};
}

request_head post(const std::string& target) {
  return {"POST", target, "application/json", "", ""};
}

int status_of(const routing& result) {
  return result.answer ? result.answer->status : 0;
}

std::string header(const routing& result, const std::string& name) {
  if (!result.answer) return {};
  for (const auto& [key, value] : result.answer->headers)
    if (key == name) return value;
  return {};
}

TEST(router, finds_every_built_route) {
  EXPECT_EQ(route(post("/v1/chat/completions"), {}).route, route_id::chat);
  EXPECT_EQ(route(post("/v1/completions"), {}).route, route_id::completions);
  EXPECT_EQ(route(post("/tokenize"), {}).route, route_id::tokenize);
  EXPECT_EQ(route(post("/detokenize"), {}).route, route_id::detokenize);
  EXPECT_EQ(route(post("/apply-template"), {}).route, route_id::apply_template);
  EXPECT_EQ(route(get("/v1/models"), {}).route, route_id::models);
  EXPECT_EQ(route(get("/health?x=1"), {}).route, route_id::health);
  EXPECT_EQ(route(get("http://h:1/ready"), {}).route, route_id::ready);
  EXPECT_EQ(route(get("/metrics"), {}).route, route_id::metrics);
  EXPECT_EQ(route(get("/version"), {}).route, route_id::version);
  EXPECT_EQ(route(get("/speculation"), {}).route, route_id::speculation);
  const auto model = route(get("/v1/models/a%2Fb/c%zz"), {});
  EXPECT_EQ(model.route, route_id::model);
  EXPECT_EQ(model.argument, "a/b/c%zz");
}

TEST(router, answers_what_it_does_not_serve) {
  EXPECT_EQ(status_of(route(get("/nope"), {})), 404);
  EXPECT_EQ(status_of(route(get(""), {})), 404);
  for (const auto* target : {"/", "/config", "/openapi.json"})
    EXPECT_EQ(status_of(route(get(target), {})), 501) << target;
  for (const auto* target : {"/v1/responses", "/v1/messages", "/v1/embeddings"})
    EXPECT_EQ(status_of(route(post(target), {})), 501) << target;
  const auto wrong = route(get("/v1/completions"), {});
  EXPECT_EQ(status_of(wrong), 405);
  EXPECT_EQ(header(wrong, "allow"), "POST, OPTIONS");
  EXPECT_EQ(header(route(post("/health"), {}), "allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(status_of(route({"OPTIONS", "/health", "", "", ""}, {})), 204);
  EXPECT_EQ(status_of(route({"OPTIONS", "*", "", "", ""}, {})), 204);
  EXPECT_EQ(route({"HEAD", "/health", "", "", ""}, {}).route, route_id::health);
}

TEST(router, checks_the_content_type) {
  auto head = post("/v1/completions");
  for (const auto* good :
       {"", "application/json", "Application/JSON; charset=utf-8"}) {
    head.content_type = good;
    EXPECT_TRUE(route(head, {}).route) << good;
  }
  for (const auto* wrong :
       {"text/plain", "application/x-www-form-urlencoded", "json"}) {
    head.content_type = wrong;
    EXPECT_EQ(status_of(route(head, {})), 415) << wrong;
  }
  head.content_type = "application/json";
  head.content_encoding = "gzip";
  EXPECT_EQ(status_of(route(head, {})), 415);
}

TEST(router, denies_all_but_health_and_ready_without_a_key) {
  const std::vector<std::string> keys{"alpha", "beta"};
  EXPECT_TRUE(route(get("/health"), keys).route);
  EXPECT_TRUE(route(get("/ready"), keys).route);
  for (const auto* target :
       {"/v1/models", "/metrics", "/version", "/nope", "/", "/v1/completions"})
    EXPECT_EQ(status_of(route(get(target), keys)), 401) << target;
  auto head = get("/v1/models");
  for (const auto* wrong : {"alph", "alphaa", "ALPHA", "alphabeta", "x"}) {
    head.key = wrong;
    EXPECT_EQ(status_of(route(head, keys)), 401) << wrong;
  }
  head.key = "beta";
  const auto allowed = route(head, keys);
  EXPECT_TRUE(allowed.route);
  EXPECT_EQ(allowed.key, 1);
}

TEST(router, echoes_sane_request_ids_only) {
  EXPECT_EQ(request_id("abc-1_2.3:4"), "abc-1_2.3:4");
  for (const auto& odd : {std::string{}, std::string{"a b"},
                          std::string{"a\r\nb"}, std::string(129, 'a')}) {
    const auto made = request_id(odd);
    EXPECT_NE(made, odd);
    EXPECT_TRUE(made.starts_with("req-"));
  }
}

TEST(text, compares_and_cuts) {
  EXPECT_TRUE(equal_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_constant_time("abcabc", "abc"));
  EXPECT_FALSE(equal_constant_time("", "abc"));
  EXPECT_FALSE(equal_constant_time("abc", ""));
  EXPECT_EQ(shortened("\xC4\x8D\xC4\x8D", 3), "\xC4\x8D...");
  EXPECT_EQ(characters("\xC4\x8D"
                       "a"),
            2u);
  EXPECT_EQ(random_hex(5).size(), 5u);
  EXPECT_NE(random_hex(24), random_hex(24));
}

}  // namespace
}  // namespace vouch::http
