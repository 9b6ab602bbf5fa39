#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <regex>
#include <thread>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "cli/compare/arms.hpp"
#include "engine/error.hpp"
#include "engine/file_text.hpp"
#include "engine/speculation/transcript.hpp"

namespace vouch::cli::compare {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::size_t max_transcript_bytes = std::size_t{4} << 30U;

struct endpoint {
  std::string url;
  std::string host;
  std::string port;
  std::string base;
};

endpoint parse_url(const std::string& url) {
  static const std::regex pattern{
      R"(http://([^/:\[\]]+|\[[^\]]+\])(:([0-9]{1,5}))?(/[^?#]*)?)"};
  std::smatch parts;
  if (!std::regex_match(url, parts, pattern)) {
    throw engine::input_error(url, "expected http://HOST[:PORT][/BASE]");
  }
  endpoint made{url, parts[1], parts[3].matched ? parts[3].str() : "80",
                parts[4]};
  while (made.base.ends_with('/')) made.base.pop_back();
  if (made.host.starts_with('[')) {
    made.host = made.host.substr(1, made.host.size() - 2);
  }
  return made;
}

/// One request on a connection of its own. Throws boost::system::system_error.
http::response<http::string_body> post(const endpoint& to,
                                       const std::string& key,
                                       const std::string& body) {
  net::io_context io{1};
  net::ip::tcp::socket socket{io};
  net::connect(socket, net::ip::tcp::resolver{io}.resolve(to.host, to.port));
  http::request<http::string_body> request{http::verb::post,
                                           to.base + "/v1/completions", 11};
  request.set(http::field::host, to.host);
  request.set(http::field::content_type, "application/json");
  if (!key.empty()) {
    request.set(http::field::authorization, "Bearer " + key);
  }
  request.body() = body;
  request.prepare_payload();
  http::write(socket, request);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  http::read(socket, buffer, parser);
  return parser.release();
}

std::string body_of(const options& chosen, const std::string& prompt,
                    bool drafts) {
  return json::serialize(
      json::object{{"prompt", prompt},
                   {"max_tokens", chosen.max_tokens},
                   {"temperature", chosen.temperature},
                   {"top_p", chosen.top_p},
                   {"presence_penalty", chosen.presence_penalty},
                   {"frequency_penalty", chosen.frequency_penalty},
                   {"repetition_penalty", chosen.repetition_penalty},
                   {"seed", static_cast<std::int64_t>(chosen.seed)},
                   {"logprobs", 0},
                   {"speculation", {{"enabled", drafts}, {"report", true}}}});
}

/// One answer as it came, and what is reported of it.
struct reply {
  answer made;
  round_counts rounds;
  std::string declined;
  std::string error;
};

reply read_reply(const std::string& text) {
  reply out;
  const auto whole = json::parse(text);
  const auto& choice = whole.at("choices").at(0);
  out.made.request = json::value_to<std::string>(whole.at("id"));
  out.made.text = json::value_to<std::string>(choice.at("text"));
  out.made.finish = json::value_to<std::string>(choice.at("finish_reason"));
  const auto& words = choice.at("logprobs").at("tokens").as_array();
  const auto& values = choice.at("logprobs").at("token_logprobs").as_array();
  for (std::size_t i = 0; i < words.size() && i < values.size(); ++i) {
    answer_token token;
    token.text = json::value_to<std::string>(words[i]);
    // The shortest digits that give the float32 back.
    token.logprob = values[i].is_null()
                        ? 0.0F
                        : static_cast<float>(values[i].to_number<double>());
    out.made.tokens.push_back(std::move(token));
  }
  const auto& told = whole.at("speculation");
  out.rounds.rounds = told.at("rounds").to_number<std::int64_t>();
  out.rounds.drafted = told.at("drafted").to_number<std::int64_t>();
  out.rounds.accepted = told.at("accepted").to_number<std::int64_t>();
  if (told.at("declined").is_string()) {
    out.declined = json::value_to<std::string>(told.at("declined"));
  }
  return out;
}

reply ask(const endpoint& to, const options& chosen, const std::string& prompt,
          bool drafts) {
  reply out;
  try {
    const auto response =
        post(to, chosen.api_key, body_of(chosen, prompt, drafts));
    if (response.result() != http::status::ok) {
      out.error = to.url + ": status " + std::to_string(response.result_int()) +
                  ": " + response.body();
      return out;
    }
    return read_reply(response.body());
  } catch (const std::exception& error) {
    out.error = to.url + ": " + error.what();
  }
  return out;
}

arm run_arm(const endpoint& to, const options& chosen,
            const std::vector<std::string>& prompts, bool drafts) {
  std::vector<reply> replies(prompts.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < prompts.size(); i = next++) {
      replies[i] = ask(to, chosen, prompts[i], drafts);
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < chosen.parallel; ++i) clients.emplace_back(work);
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  arm made;
  made.classic = !drafts;
  made.seconds = spent.count();
  for (auto& each : replies) {
    if (made.error.empty()) made.error = each.error;
    made.rounds.rounds += each.rounds.rounds;
    made.rounds.drafted += each.rounds.drafted;
    made.rounds.accepted += each.rounds.accepted;
    if (!each.declined.empty()) ++made.declines[each.declined];
    made.answers.push_back(std::move(each.made));
  }
  return made;
}

/// What was accepted where, from the server's transcript.
void read_positions(const std::string& file, std::vector<arm>& arms) {
  std::map<std::string, arm*> owners;
  for (auto& each : arms) {
    for (const auto& given : each.answers) owners[given.request] = &each;
  }
  for (const auto& entry : engine::parse_transcript(
           file, engine::read_input_text(file, max_transcript_bytes))) {
    const auto* round = std::get_if<engine::transcript_round>(&entry.record);
    if (round == nullptr) continue;
    const auto found = owners.find(round->name.request);
    if (found == owners.end()) continue;
    found->second->rounds.count_positions(
        round->drafts.size(), static_cast<std::size_t>(round->accepted));
  }
}

}  // namespace

std::vector<arm> run_servers(const options& chosen,
                             const std::vector<std::string>& prompts,
                             const arm_observer& observe) {
  std::vector<endpoint> servers;
  for (const auto& url : chosen.urls) servers.push_back(parse_url(url));
  std::vector<arm> arms;
  const auto repeat = [&](const endpoint& to, bool drafts) {
    for (int run = 1; run <= chosen.runs; ++run) {
      auto made = run_arm(to, chosen, prompts, drafts);
      made.run = run;
      made.name = drafts ? to.url + ", speculation on" : "classic";
      observe(made);
      arms.push_back(std::move(made));
    }
  };
  repeat(servers.front(), false);
  if (!arms.front().error.empty()) {
    throw engine::input_error("--url", arms.front().error);
  }
  for (const auto& server : servers) repeat(server, true);
  if (!chosen.transcript.empty()) read_positions(chosen.transcript, arms);
  return arms;
}

}  // namespace vouch::cli::compare
