#include "cli/compare/report.hpp"

#include <cstdio>
#include <iostream>

#include <boost/json.hpp>

namespace vouch::cli::compare {

namespace json = boost::json;

namespace {

/// More than a person reads; --json has all of them.
constexpr std::size_t most_shown = 5;

std::string share(std::int64_t part, std::int64_t of) {
  if (of == 0) return std::string(1, '-');
  char text[16];
  std::snprintf(text, sizeof text, "%.2f",
                static_cast<double>(part) / static_cast<double>(of));
  return text;
}

/// Tokens a round: its accepted drafts and the pick behind them.
double accepted_length(const round_counts& of) {
  return of.rounds == 0 ? 0.0
                        : 1.0 + static_cast<double>(of.accepted) /
                                    static_cast<double>(of.rounds);
}

json::array positions(const round_counts& of) {
  json::array all;
  for (std::size_t i = 0; i < of.reached.size(); ++i) {
    all.push_back(
        json::object{{"reached", of.reached[i]}, {"accepted", of.taken[i]}});
  }
  return all;
}

json::object rounds_json(const round_counts& of) {
  return {
      {"rounds", of.rounds},
      {"drafted", of.drafted},
      {"accepted", of.accepted},
      {"rewinds", of.rewinds ? json::value(*of.rewinds) : nullptr},
      {"accepted_length", accepted_length(of)},
      {"acceptance_by_position",
       of.reached.empty() ? json::value(nullptr) : json::value(positions(of))}};
}

json::array differences_json(const verdict& of) {
  json::array all;
  const auto index = [](std::int64_t i) {
    return i < 0 ? json::value(nullptr) : json::value(i);
  };
  for (const auto& each : of.differences) {
    all.push_back(json::object{{"prompt", each.prompt},
                               {"token", index(each.token)},
                               {"classic", each.classic},
                               {"here", each.here},
                               {"row", index(each.row)}});
  }
  return all;
}

json::array answers_json(const arm& of) {
  json::array all;
  for (const auto& each : of.answers) {
    json::array ids;
    json::array words;
    for (const auto& token : each.tokens) {
      if (token.id >= 0) ids.push_back(token.id);
      words.emplace_back(token.text);
    }
    all.push_back(json::object{{"text", each.text},
                               {"finish_reason", each.finish},
                               {"token_ids", std::move(ids)},
                               {"tokens", std::move(words)}});
  }
  return all;
}

json::array strings(const std::vector<std::string>& of) {
  json::array all;
  for (const auto& each : of) all.emplace_back(each);
  return all;
}

json::object arm_json(const arm& of, const verdict& judged) {
  json::object declines;
  for (const auto& [reason, count] : of.declines) declines[reason] = count;
  auto counts = rounds_json(of.rounds);
  return {{"name", of.name},
          {"run", of.run},
          {"classic", of.classic},
          {"holds", judged.holds()},
          {"answers", judged.answers},
          {"equal_texts", judged.equal_texts},
          {"sha256", judged.sha256},
          {"logprobs",
           {{"equal", judged.logprobs_equal},
            {"one_step", judged.logprobs_one_step},
            {"further", judged.logprobs_further}}},
          {"rows", {{"compared", judged.rows}, {"differ", judged.rows_differ}}},
          {"speculation", std::move(counts)},
          {"declines", std::move(declines)},
          {"tokens", of.tokens()},
          {"seconds", of.seconds},
          {"tokens_per_second", of.rate()},
          {"differences", differences_json(judged)},
          {"failures", strings(judged.failures)},
          {"texts", answers_json(of)}};
}

std::string acceptance(const round_counts& of) {
  std::string text;
  for (std::size_t i = 0; i < of.reached.size(); ++i) {
    if (i > 0) text += ' ';
    text += share(of.taken[i], of.reached[i]);
  }
  return text;
}

}  // namespace

void print_arm(const arm& of) {
  std::cerr << of.name << ", run " << of.run << ": "
            << (of.error.empty() ? std::to_string(of.tokens()) + " tokens"
                                 : of.error)
            << '\n';
}

void print_verdicts(const std::vector<arm>& arms,
                    const std::vector<verdict>& verdicts) {
  std::printf("%-36s %3s %11s %9s %7s %7s %8s %8s  %s\n", "arm", "run",
              "equal texts", "logprobs", "rounds", "rewinds", "accepted",
              "tok/s", "sha256");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto& a = arms[i];
    const auto& v = verdicts[i];
    const auto off = v.logprobs_one_step + v.logprobs_further;
    std::printf(
        "%-36s %3d %5ld of %-3ld %9s %7ld %7s %8.2f %8.1f  %.12s  %s\n",
        a.name.c_str(), a.run, static_cast<long>(v.equal_texts),
        static_cast<long>(v.answers),
        off == 0 ? "equal" : (std::to_string(off) + " differ").c_str(),
        static_cast<long>(a.rounds.rounds),
        a.rounds.rewinds ? std::to_string(*a.rounds.rewinds).c_str() : "-",
        accepted_length(a.rounds), a.rate(), v.sha256.c_str(),
        v.holds() ? "holds" : "FAILS");
  }
  std::int64_t rows = 0;
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto& a = arms[i];
    rows += verdicts[i].rows;
    differ += verdicts[i].rows_differ;
    if (a.run == 1 && !a.rounds.reached.empty()) {
      std::printf("%s: accepted by position %s\n", a.name.c_str(),
                  acceptance(a.rounds).c_str());
    }
    for (const auto& [reason, count] : a.declines) {
      if (reason == "request_opt_out") continue;
      std::printf("%s, run %d: %ld declined: %s\n", a.name.c_str(), a.run,
                  static_cast<long>(count), reason.c_str());
    }
  }
  if (rows > 0) {
    std::printf("%ld rows of logits compared, %ld differ\n",
                static_cast<long>(rows), static_cast<long>(differ));
  }
  for (const auto& v : verdicts) {
    std::size_t shown = 0;
    for (const auto& failure : v.failures) {
      if (shown++ == most_shown) {
        std::printf("... and %zu more\n", v.failures.size() - most_shown);
        break;
      }
      std::printf("%s, run %d: %s\n", v.name.c_str(), v.run, failure.c_str());
    }
  }
}

std::string to_json(const options& chosen,
                    const std::vector<std::string>& prompts,
                    const std::vector<arm>& arms,
                    const std::vector<verdict>& verdicts) {
  json::array all;
  bool holds = true;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    holds = holds && verdicts[i].holds();
    all.push_back(arm_json(arms[i], verdicts[i]));
  }
  return json::serialize(json::object{
             {"holds", holds},
             {"model", chosen.model.empty() ? json::value(nullptr)
                                            : json::value(chosen.model)},
             {"servers", strings(chosen.urls)},
             {"max_tokens", chosen.max_tokens},
             {"parallel", chosen.parallel},
             {"temperature", chosen.temperature},
             {"top_p", chosen.top_p},
             {"seed", static_cast<std::int64_t>(chosen.seed)},
             {"prompts", strings(prompts)},
             {"arms", std::move(all)}}) +
         "\n";
}

}  // namespace vouch::cli::compare
