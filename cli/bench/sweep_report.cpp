#include <algorithm>
#include <iostream>
#include <string>

#include <boost/json.hpp>
#include <spdlog/fmt/fmt.h>

#include "cli/bench/sweep.hpp"

namespace vouch::cli::bench {

namespace json = boost::json;

namespace {

/// "median (least ... most)".
std::string show(const spread& of, int precision) {
  return fmt::format("{:.{}f} ({:.{}f} ... {:.{}f})", of.median, precision,
                     of.least, precision, of.most, precision);
}

std::string show_ratio(const spread& of, bool resolved) {
  return show(of, 2) + (resolved ? "" : " unresolved");
}

std::string show_acceptance(const arm_result& arm) {
  std::string text;
  for (const auto share : arm.acceptance) {
    text += fmt::format("{}{:.2f}", text.empty() ? "" : " ", share);
  }
  return text;
}

void print_session(const options& chosen, const session_result& of) {
  std::cout << fmt::format(
      "\n{} stream{}\nClassic at first {} tok/s, at last {}: differences up "
      "to {:.1f} % are unresolved{}\n\n",
      of.streams, of.streams == 1 ? "" : "s", show(of.opening, 0),
      show(of.closing, 0), 100 * of.floor,
      of.drifted ? "; the machine DRIFTED between them" : "");
  std::cout << fmt::format("{:22}{:27}{:33}", "arm", "tok/s", "x classic");
  if (chosen.price_list) std::cout << fmt::format("{:33}", "x classic, fast");
  std::cout << fmt::format("{:>7}{:>7}{:>10}{:>10}{:>7}  {}\n", "tokens",
                           "step", "predicted", "drafter", "texts",
                           "accepted at draft 1, 2, ...");
  std::cout << fmt::format("{:{}}{:>7}{:>7}{:>10}{:>10}{:>7}\n", "",
                           chosen.price_list ? 115 : 82, "/block", "units", "",
                           "ms/step", "equal");
  for (const auto& arm : of.arms) {
    std::cout << fmt::format("{:22}{:27}{:33}", arm.name, show(arm.rate, 0),
                             show_ratio(arm.ratio, arm.resolved));
    if (chosen.price_list) {
      std::cout << fmt::format("{:33}",
                               show_ratio(arm.fast_ratio, arm.fast_resolved));
    }
    if (arm.width > 1) {
      std::cout << fmt::format("{:>7.2f}{:>7.2f}{:>10.2f}{:>10.3f}",
                               arm.block_tokens, arm.step_units, arm.predicted,
                               1e3 * arm.drafter_seconds);
    } else {
      std::cout << fmt::format("{:>7}{:>7.2f}{:>10}{:>10}", "", arm.step_units,
                               "", "");
    }
    std::cout << fmt::format("{:>4}/{:<4}{}\n", arm.equal_texts, of.streams,
                             show_acceptance(arm));
  }
  if (!of.texts_hold) {
    std::cout << "FAILED: an arm of the plan invariant has another text than "
                 "classic\n";
  }
}

json::object to_json(const spread& of) {
  return {{"median", of.median}, {"min", of.least}, {"max", of.most}};
}

json::object to_json(const options& chosen, const arm_result& of) {
  json::object made{
      {"name", of.name},
      {"plan", of.plan},
      {"width", of.width},
      {"tok_s", to_json(of.rate)},
      {"of_classic", to_json(of.ratio)},
      {"resolved", of.resolved},
      {"step_units", of.step_units},
      {"equal_texts", of.equal_texts},
  };
  if (chosen.price_list) {
    made["of_classic_fast"] = to_json(of.fast_ratio);
    made["resolved_fast"] = of.fast_resolved;
  }
  if (of.width > 1) {
    made["tokens_per_block"] = of.block_tokens;
    made["predicted"] = of.predicted;
    made["drafter_ms"] = 1e3 * of.drafter_seconds;
    made["acceptance"] = json::value_from(of.acceptance);
  }
  return made;
}

}  // namespace

void print_sweep_text(const options& chosen, const sweep_results& found) {
  std::cout << found.model << "; program " << found.program << '\n';
  for (const auto& each : found.devices) std::cout << each << '\n';
  std::cout << fmt::format(
      "{} tokens a stream after prompts of {}, greedy; drafts right with "
      "probability {:g}\nMedians (min ... max) of {} rounds in rotated order\n",
      found.tokens, found.prompt, chosen.accept, chosen.repeat);
  for (const auto& each : found.sessions) print_session(chosen, each);
}

void print_sweep_json(const options& chosen, const sweep_results& found) {
  json::object out{
      {"model", found.model},
      {"path", found.path},
      {"program", found.program},
      {"devices", json::value_from(found.devices)},
      {"plan", chosen.price_list ? "both" : chosen.plan},
      {"kv_type", chosen.kv_type},
      {"rounds", chosen.repeat},
      {"tokens", found.tokens},
      {"prompt", found.prompt},
      {"accept", chosen.accept},
      {"texts_hold", found.texts_hold()},
  };
  json::array sessions;
  for (const auto& each : found.sessions) {
    json::array all;
    for (const auto& arm : each.arms) all.push_back(to_json(chosen, arm));
    sessions.push_back(json::object{{"streams", each.streams},
                                    {"opening_tok_s", to_json(each.opening)},
                                    {"closing_tok_s", to_json(each.closing)},
                                    {"floor", each.floor},
                                    {"drifted", each.drifted},
                                    {"arms", std::move(all)}});
  }
  out["sessions"] = std::move(sessions);
  std::cout << json::serialize(out) << '\n';
}

}  // namespace vouch::cli::bench
