#include "engine/speculation/transcript.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "engine/speculation/scripted_drafter.hpp"
#include "engine/speculation/transcript_check.hpp"
#include "tests/engine/speculation/transcribe.hpp"

namespace vouch::engine {
namespace {

using testing::draws;
using testing::fake_request;
using testing::fake_target;
using testing::text_of;
using testing::transcribe;
using records = std::vector<transcript_record>;
using tokens = std::vector<token_id>;
using rule = transcript_rule;

std::shared_ptr<const drafter> probable(const fake_target& target, double p) {
  scripted_options options;
  options.mode = script::probable;
  options.probabilities = {p};
  options.seed = target.seed;
  options.vocabulary = target.vocabulary;
  options.oracle = [target](std::span<const token_id> history) {
    return target.pick(history);
  };
  return scripted_drafter::make(options).loaded;
}

transcript_report check(const std::string& text,
                        const classic_texts* classic = nullptr) {
  return check_transcript(parse_transcript("t.jsonl", text), classic);
}

std::string first_of(const transcript_report& report) {
  if (report.holds()) return "holds";
  const auto& failure = report.failures.front();
  return "line " + std::to_string(failure.line) + ": " +
         std::string{name_of(failure.rule)} + ": " + failure.detail;
}

TEST(Transcript, OfEveryRunHolds) {
  std::set<round_end> ends;
  std::int64_t rounds = 0;
  std::int64_t bursts = 0;
  std::string mixed;
  classic_texts all;
  for (std::uint64_t run = 0; run < 1500; ++run) {
    draws random{run};
    const fake_target target{.seed = run,
                             .vocabulary = random.between(8, 60),
                             .one_error_in = random.chance(0.2) ? 30U : 0U};
    fake_request request;
    request.prompt = {1, 2, 3};
    request.budget = random.between(1, 60);
    request.context = random.chance(0.2) ? random.between(3, 40) : 500;
    if (random.chance(0.5)) request.stop_tokens = {0, 5};
    if (random.chance(0.3)) request.stop_pair = {2, random.below(8)};
    const int width = random.between(2, 16);
    width_set widths{width};
    for (int w = 2; w < width; ++w) {
      if (random.chance(0.6)) widths.insert(w);
    }
    const auto played =
        testing::play(target, request, *probable(target, 0.8), widths, width);
    const sequence_name name{"r" + std::to_string(run / 2),
                             static_cast<std::int64_t>(run % 2)};
    const auto text =
        text_of(transcribe(played, request, name, widths, run << 50));
    const classic_texts classic{
        {name, testing::classic_loop(target, request).emitted}};
    const auto report = check(text, &classic);
    if (report.rounds == 0) continue;
    ASSERT_TRUE(report.holds()) << run << ": " << first_of(report);
    ASSERT_EQ(report.sequences, 1);
    ends.insert(played.end);
    rounds += report.rounds;
    bursts += report.bursts;
    mixed += text;
    all.insert(classic.begin(), classic.end());
  }
  EXPECT_EQ(ends.size(), 5U);
  EXPECT_GT(rounds, 3000);
  EXPECT_GT(bursts, 1000);
  // Lines of all of them together.
  const auto report = check(mixed, &all);
  EXPECT_TRUE(report.holds()) << first_of(report);
  EXPECT_EQ(report.rounds, rounds);
  EXPECT_GE(report.compared, report.emitted);
}

TEST(Transcript, LinesReadBackAsTheyWere) {
  transcript_round r;
  r.name = {"say \"hi\"\n\xC5\xA1", 3};
  r.drafts = {1, 2};
  r.picks = {1, -1, -1};
  r.emitted = {1};
  r.width = 3;
  r.seed = 0xffff'ffff'ffff'ffffU;
  r.verdict = "equal";
  r.end = round_end::failed;
  const auto line = to_line(r);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto back = parse_transcript("t", line);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].line, 1U);
  EXPECT_EQ(to_line(back[0].record), line);
  const auto& again = std::get<transcript_round>(back[0].record);
  EXPECT_EQ(again.name, r.name);
  EXPECT_EQ(again.seed, r.seed);
  EXPECT_EQ(again.end, r.end);
  EXPECT_EQ(again.picks, r.picks);
}

/// A run with two bursts, partial acceptance, a full block, and a stop token.
struct worked_example {
  worked_example() {
    const sequence_name name{"req-1", 0};
    // The picks are 10, 11, 12, ...; token 29 stops.
    const auto round = [&](std::int64_t burst, std::int64_t index,
                           token_id anchor, const tokens& drafts,
                           round_end end = round_end::none) {
      transcript_round r;
      r.name = name;
      r.burst = burst;
      r.round = index;
      r.width = std::ssize(drafts) + 1;
      r.anchor = anchor;
      r.drafts = drafts;
      r.position = anchor - 5;  // Prompt 0 ... 4, then 10, 11, ...
      if (anchor == 4) r.position = 4;
      token_id next = anchor == 4 ? 10 : anchor + 1;
      for (std::size_t i = 0; i <= drafts.size(); ++i)
        r.picks.push_back(next++);
      while (r.accepted < std::ssize(drafts) &&
             drafts[static_cast<std::size_t>(r.accepted)] ==
                 r.picks[static_cast<std::size_t>(r.accepted)]) {
        ++r.accepted;
      }
      for (std::int64_t i = 0; i <= r.accepted; ++i) {
        r.emitted.push_back(r.picks[static_cast<std::size_t>(i)]);
        if (r.emitted.back() == 29) break;
      }
      r.cache_before = r.position;
      r.cache_after = r.position + std::ssize(r.emitted);
      r.seed = 77;
      r.sampler_position = r.position;
      r.verdict = "equal";
      r.end = end;
      lines.emplace_back(r);
    };
    transcript_sequence s;
    s.name = name;
    s.prompt_tokens = 5;
    s.last_token = 4;
    s.budget = 40;
    s.context = 60;
    s.stop_tokens = {29, 99};
    s.widths = {2, 4};
    s.seed = 77;
    s.drafter = "scripted";
    lines.emplace_back(s);                                            // 1
    lines.emplace_back(transcript_burst{name, 0, 0, 4, 4, "equal"});  // 2
    round(0, 0, 4, {10, 11, 50});                                     // 3
    round(0, 1, 12, {13, 14, 15});                                    // 4
    round(0, 2, 16, {60});                                            // 5
    // 18 and 19 came from classic steps.
    lines.emplace_back(transcript_burst{name, 1, 10, 19, 14, "equal"});  // 6
    round(1, 0, 19, {20, 61, 62});                                       // 7
    round(1, 1, 21, {22, 23, 24});                                       // 8
    round(1, 2, 25, {26, 27, 63});                                       // 9
    round(1, 3, 28, {29, 30, 31}, round_end::stop_token);                // 10
    for (token_id token = 10; token <= 29; ++token) text.push_back(token);
    classic = {{name, text}};
  }
  records lines;
  tokens text;
  classic_texts classic;
};

transcript_sequence& sequence(records& of) {
  return std::get<transcript_sequence>(of[0]);
}
transcript_burst& burst(records& of, std::size_t line) {
  return std::get<transcript_burst>(of[line - 1]);
}
transcript_round& round_at(records& of, std::size_t line) {
  return std::get<transcript_round>(of[line - 1]);
}

/// One field changed; the rule that must name it, and the line it must name.
struct mutation {
  const char* what;
  std::size_t line;
  rule broken;
  std::function<void(records&)> change;
};

std::vector<mutation> mutations() {
  const auto at = [](std::size_t line, auto change) {
    return [line, change](records& all) { change(round_at(all, line)); };
  };
  return {
      {"sequence.request", 2, rule::sequence,
       [](records& all) { sequence(all).name.request = "req-2"; }},
      {"sequence.choice", 2, rule::sequence,
       [](records& all) { sequence(all).name.choice = 1; }},
      {"sequence.prompt_tokens", 2, rule::burst_start,
       [](records& all) { ++sequence(all).prompt_tokens; }},
      {"sequence.last_token", 2, rule::first_anchor,
       [](records& all) { sequence(all).last_token = 3; }},
      {"sequence.budget, too small", 7, rule::width,
       [](records& all) { sequence(all).budget = 12; }},
      {"sequence.budget, for its last round", 10, rule::width,
       [](records& all) { sequence(all).budget = 20; }},
      {"sequence.context", 10, rule::width,
       [](records& all) { sequence(all).context = 25; }},
      {"sequence.stop_tokens, one less", 10, rule::emitted,
       [](records& all) { sequence(all).stop_tokens = {99}; }},
      {"sequence.stop_tokens, one more", 4, rule::stop_cut,
       [](records& all) { sequence(all).stop_tokens.push_back(13); }},
      {"sequence.widths", 5, rule::width,
       [](records& all) { sequence(all).widths = {4}; }},
      {"sequence.seed", 3, rule::seed,
       [](records& all) { sequence(all).seed = 78; }},
      {"sequence twice", 2, rule::sequence,
       [](records& all) { all.insert(all.begin(), all.front()); }},
      {"sequence left out", 1, rule::sequence,
       [](records& all) { all.erase(all.begin()); }},
      {"burst.choice", 2, rule::sequence,
       [](records& all) { burst(all, 2).name.choice = 1; }},
      {"burst.burst", 6, rule::burst,
       [](records& all) { burst(all, 6).burst = 2; }},
      {"burst.generated, less than before", 6, rule::burst_start,
       [](records& all) { burst(all, 6).generated = 7; }},
      {"burst.generated", 6, rule::burst_start,
       [](records& all) { burst(all, 6).generated = 9; }},
      {"burst.last_token", 7, rule::first_anchor,
       [](records& all) { burst(all, 6).last_token = 18; }},
      {"burst.cache", 6, rule::burst_start,
       [](records& all) { burst(all, 6).cache = 13; }},
      {"burst.verdict", 6, rule::verdict,
       [](records& all) { burst(all, 6).verdict = "diverges"; }},
      {"burst left out", 6, rule::burst,
       [](records& all) { all.erase(all.begin() + 5); }},
      {"round.request", 4, rule::sequence,
       at(4, [](auto& r) { r.name.request = "x"; })},
      {"round.choice", 4, rule::sequence,
       at(4, [](auto& r) { r.name.choice = 2; })},
      {"round.burst", 4, rule::burst, at(4, [](auto& r) { r.burst = 1; })},
      {"round.round", 4, rule::round_order,
       at(4, [](auto& r) { r.round = 2; })},
      {"round left out", 4, rule::round_order,
       [](records& all) { all.erase(all.begin() + 3); }},
      {"round twice", 5, rule::round_order,
       [](records& all) { all.insert(all.begin() + 4, all[3]); }},
      {"round.width", 4, rule::rows, at(4, [](auto& r) { r.width = 3; })},
      {"round.position", 4, rule::position,
       at(4, [](auto& r) { ++r.position; })},
      {"round.anchor of the first round", 3, rule::first_anchor,
       at(3, [](auto& r) { r.anchor = 3; })},
      {"round.anchor of a burst's first round", 7, rule::first_anchor,
       at(7, [](auto& r) { r.anchor = 18; })},
      {"round.anchor", 4, rule::anchor, at(4, [](auto& r) { r.anchor = 11; })},
      {"round.drafts, an accepted one", 4, rule::accepted,
       at(4, [](auto& r) { r.drafts[1] = 40; })},
      {"round.drafts, the first rejected one", 3, rule::accepted,
       at(3, [](auto& r) { r.drafts[2] = 12; })},
      {"round.drafts, one less", 4, rule::rows,
       at(4, [](auto& r) { r.drafts.pop_back(); })},
      {"round.picks, of an accepted draft", 4, rule::accepted,
       at(4, [](auto& r) { r.picks[1] = 40; })},
      {"round.picks, of the bonus", 4, rule::emitted,
       at(4, [](auto& r) { r.picks[3] = 40; })},
      {"round.picks, of an accepted draft in error", 4, rule::accepted,
       at(4, [](auto& r) { r.picks[1] = -1; })},
      {"round.picks, of the bonus in error", 4, rule::emitted,
       at(4, [](auto& r) { r.picks[3] = -1; })},
      {"round.picks, one more", 4, rule::rows,
       at(4, [](auto& r) { r.picks.push_back(17); })},
      {"round.accepted, one more", 3, rule::accepted,
       at(3, [](auto& r) { ++r.accepted; })},
      {"round.accepted, one less", 4, rule::accepted,
       at(4, [](auto& r) { --r.accepted; })},
      {"round.emitted, another token", 4, rule::emitted,
       at(4, [](auto& r) { r.emitted[1] = 40; })},
      {"round.emitted, another bonus", 4, rule::emitted,
       at(4, [](auto& r) { r.emitted[3] = 40; })},
      {"round.emitted, one less", 4, rule::emitted,
       at(4, [](auto& r) { r.emitted.pop_back(); })},
      {"round.emitted, one more", 4, rule::emitted,
       at(4, [](auto& r) { r.emitted.push_back(17); })},
      {"round.emitted, past the stop token", 10, rule::stop_cut,
       at(10,
          [](auto& r) {
            r.emitted = {29, 30};
          })},
      {"round.cache_before", 4, rule::cache_before,
       at(4, [](auto& r) { --r.cache_before; })},
      {"round.cache_after, as if all rows stayed", 3, rule::cache_after,
       at(3, [](auto& r) { r.cache_after = r.cache_before + r.width; })},
      {"round.cache_after, one less", 3, rule::cache_after,
       at(3, [](auto& r) { --r.cache_after; })},
      {"round.seed", 4, rule::seed, at(4, [](auto& r) { r.seed = 0; })},
      {"round.sampler_position", 4, rule::sampler_position,
       at(4, [](auto& r) { ++r.sampler_position; })},
      {"round.verdict", 4, rule::verdict,
       at(4, [](auto& r) { r.verdict = "not_run"; })},
      {"round.end, too early", 4, rule::end,
       at(4, [](auto& r) { r.end = round_end::budget; })},
      {"round.end, a stop string in mid-text", 5, rule::after_end,
       at(4, [](auto& r) { r.end = round_end::stop_string; })},
      {"round.end, missed", 10, rule::end,
       at(10, [](auto& r) { r.end = round_end::none; })},
      {"no rounds", 0, rule::rounds, [](records& all) { all.resize(2); }},
      {"no lines", 0, rule::rounds, [](records& all) { all.clear(); }},
  };
}

TEST(TranscriptCheck, HoldsForTheWorkedExample) {
  worked_example example;
  const auto report = check(text_of(example.lines), &example.classic);
  EXPECT_TRUE(report.holds()) << first_of(report);
  EXPECT_EQ(report.sequences, 1);
  EXPECT_EQ(report.bursts, 2);
  EXPECT_EQ(report.rounds, 7);
  EXPECT_EQ(report.drafted, 19);
  EXPECT_EQ(report.accepted, 2 + 3 + 0 + 1 + 3 + 2 + 1);
  EXPECT_EQ(report.emitted, 18);
}

TEST(TranscriptCheck, NamesEveryMutationByItsRule) {
  std::set<rule> met;
  for (const auto& each : mutations()) {
    worked_example example;
    each.change(example.lines);
    const auto report = check(text_of(example.lines));
    ASSERT_FALSE(report.holds()) << each.what;
    EXPECT_EQ(report.failures.front().rule, each.broken)
        << each.what << ": " << first_of(report);
    EXPECT_EQ(report.failures.front().line, each.line)
        << each.what << ": " << first_of(report);
    met.insert(each.broken);
  }
  EXPECT_FALSE(met.contains(rule::classic));
  // budget_cut and context_cut need a width that was legal; see below.
  EXPECT_EQ(met.size(), static_cast<std::size_t>(rule::classic) - 2);
}

TEST(TranscriptCheck, CutsAtBudgetAndContext) {
  const sequence_name name{"r", 0};
  transcript_sequence s;
  s.name = name;
  s.prompt_tokens = 2;
  s.budget = 3;
  s.context = 100;
  s.widths = {4};
  transcript_round r;
  r.name = name;
  r.width = 4;
  r.position = r.cache_before = r.sampler_position = 1;
  r.drafts = {1, 2, 3};
  r.picks = {1, 2, 3, 4};
  r.accepted = 3;
  r.emitted = {1, 2, 3};
  r.cache_after = 4;
  r.verdict = "equal";
  r.end = round_end::budget;
  const auto report = [&] {
    return check(text_of({s, transcript_burst{name, 0, 0, 0, 1, "equal"}, r}));
  };
  EXPECT_TRUE(report().holds()) << first_of(report());
  r.emitted = {1, 2, 3, 4};
  EXPECT_EQ(report().failures.front().rule, rule::budget_cut);
  // Four rows fit, so four tokens do; the end says so.
  s.budget = 50;
  s.context = 5;
  r.cache_after = 5;
  r.end = round_end::context;
  EXPECT_TRUE(report().holds()) << first_of(report());
  s.context = 4;
  const auto narrow = report().failures;
  ASSERT_GE(narrow.size(), 2U);
  EXPECT_EQ(narrow[0].rule, rule::width);
  EXPECT_EQ(narrow[1].rule, rule::context_cut);
  // A stop string may cut anywhere; an empty emission it does not explain.
  s.context = 100;
  r.emitted = {1};
  r.cache_after = 2;
  r.end = round_end::stop_string;
  EXPECT_TRUE(report().holds()) << first_of(report());
  r.emitted = {};
  EXPECT_EQ(report().failures.front().rule, rule::emitted);
}

TEST(TranscriptCheck, MapsTheFirstDifferenceToItsRow) {
  worked_example example;
  const auto name = example.classic.begin()->first;
  // Generated token 4 is the second that line 4 emits.
  example.classic[name][4] = 500;
  example.classic[name][6] = 501;
  auto report = check(text_of(example.lines), &example.classic);
  ASSERT_EQ(report.failures.size(), 1U);
  auto failure = report.failures.front();
  EXPECT_EQ(failure.rule, rule::classic);
  EXPECT_EQ(failure.line, 4U);
  EXPECT_EQ(failure.burst, 0);
  EXPECT_EQ(failure.round, 1);
  EXPECT_EQ(failure.row, 1);
  // A difference in classic steps shows where the next burst begins.
  example = {};
  example.classic[name][9] = 500;
  report = check(text_of(example.lines), &example.classic);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures[0].line, 6U);
  EXPECT_EQ(report.failures[0].row, -1);
}

TEST(TranscriptCheck, WantsTheWholeClassicText) {
  worked_example example;
  const auto name = example.classic.begin()->first;
  example.classic[name].push_back(30);
  EXPECT_EQ(check(text_of(example.lines), &example.classic).failures.size(),
            1U);
  // The stop token may be left out, another last token not.
  example.classic[name] = tokens(example.text.begin(), example.text.end() - 1);
  EXPECT_TRUE(check(text_of(example.lines), &example.classic).holds());
  example.classic[name].pop_back();
  EXPECT_FALSE(check(text_of(example.lines), &example.classic).holds());
  example.classic.clear();
  EXPECT_EQ(check(text_of(example.lines), &example.classic).failures[0].rule,
            rule::classic);
}

std::string error_of(const std::string& text) {
  try {
    (void)parse_transcript("t.jsonl", text);
  } catch (const input_error& error) {
    return error.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& what,
                     const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(TranscriptParse, NamesLineAndField) {
  const auto lines = text_of(worked_example{}.lines);
  const auto third = text_of({worked_example{}.lines[2]});
  const auto error = [&](const std::string& what, const std::string& by) {
    return error_of(lines + replaced(third, what, by));
  };
  EXPECT_EQ(error("\"anchor\":4,", ""),
            "t.jsonl: line 11: field 'anchor': missing");
  EXPECT_EQ(error("\"anchor\":4", "\"anchor\":\"4\""),
            "t.jsonl: line 11: field 'anchor': not an integer");
  EXPECT_EQ(error("\"anchor\":4", "\"anchor\":-1"),
            "t.jsonl: line 11: field 'anchor': -1 is out of range (0 to "
            "2147483647)");
  EXPECT_EQ(error("\"anchor\":4", "\"anchor\":4,\"anchor\":4"),
            "t.jsonl: line 11: field 'anchor': occurs twice");
  EXPECT_EQ(error("\"anchor\":4", "\"anchor\":4,\"anker\":4"),
            "t.jsonl: line 11: field 'anker': unknown");
  EXPECT_EQ(error("[10,11,50]", "[10,11.5,50]"),
            "t.jsonl: line 11: field 'drafts[1]': not an integer");
  EXPECT_EQ(error("[10,11,50]", "10"),
            "t.jsonl: line 11: field 'drafts': not an array");
  EXPECT_EQ(error("\"picks\":[10", "\"picks\":[-2"),
            "t.jsonl: line 11: field 'picks[0]': -2 is out of range (-1 to "
            "2147483647)");
  EXPECT_EQ(error("\"end\":\"none\"", "\"end\":\"stop\""),
            "t.jsonl: line 11: field 'end': 'stop' is no end of a round");
  EXPECT_EQ(error("\"seed\":77", "\"seed\":-77"),
            "t.jsonl: line 11: field 'seed': not an integer of 0 to 2^64 - 1");
  EXPECT_EQ(error("\"verdict\":\"equal\"", "\"verdict\":1"),
            "t.jsonl: line 11: field 'verdict': not a string");
  EXPECT_EQ(error("\"width\":4", "\"width\":65"),
            "t.jsonl: line 11: field 'width': 65 is out of range (1 to 64)");
  EXPECT_EQ(error("\"record\":\"round\"", "\"record\":\"rounds\""),
            "t.jsonl: line 11: field 'record': 'rounds' is none of sequence, "
            "burst, round");
  EXPECT_EQ(error_of(lines + "[]\n"), "t.jsonl: line 11: not a JSON object");
  EXPECT_NE(error_of(lines + third.substr(0, 40)).find("line 11: not valid"),
            std::string::npos);
  EXPECT_NE(error_of("\n").find("t.jsonl: line 1: not valid JSON"),
            std::string::npos);
  EXPECT_EQ(error_of(""), "no error");
}

TEST(TranscriptParse, ReadsClassicTexts) {
  const auto texts =
      parse_classic_texts("c",
                          "{\"request\":\"a\",\"choice\":0,\"tokens\":[1,2]}\n"
                          "{\"request\":\"a\",\"choice\":1,\"tokens\":[]}\n");
  EXPECT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts.at({"a", 0}), (tokens{1, 2}));
  const std::string one = "{\"request\":\"a\",\"choice\":0,\"tokens\":[1]}\n";
  EXPECT_THROW(parse_classic_texts("c", one + one), input_error);
  EXPECT_THROW(parse_classic_texts("c", "{\"request\":\"a\"}"), input_error);
}

}  // namespace
}  // namespace vouch::engine
