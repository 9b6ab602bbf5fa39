#include "engine/bisect/bisect.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "engine/error.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/gate/run_unit.hpp"
#include "tests/engine/row_contract/models.hpp"

namespace vouch::engine {
namespace {

constexpr token_id vocabulary = 320;

class bisecting : public testing::Test {
 protected:
  void SetUp() override {
    weights = test::load(std::string{VOUCH_FIXTURES} + "/llama_tiny.gguf");
    sources.vocabulary = vocabulary;
    sources.chunk = 32;
    sources.seed = 3;
  }

  std::unique_ptr<executor> device(const std::string& faults,
                                   int threads = 2) const {
    cpu_executor_options o;
    o.threads = threads;
    o.blocks = 96;
    o.slots = 8;
    o.step_rows = 64;
    if (!faults.empty()) {
      o.faults = std::make_shared<const fault_plan>(fault_plan::parse(faults));
    }
    return make_cpu_executor(weights, o);
  }

  bisect_case pattern(draft_pattern of, int width, int beside = 0,
                      const std::string& faults = {},
                      float temperature = 0.0F) const {
    pattern_options o;
    for (token_id i = 0; i < 37; ++i) o.prompt.push_back(i * 7 % 300);
    o.rows = 40;
    o.width = width;
    o.pattern = of;
    o.beside = beside;
    o.sampling.temperature = temperature;
    o.sampling.vocab_limit = vocabulary;
    return case_of_pattern(*device(faults), o, sources);
  }

  bisect_report run(const bisect_case& of, const std::string& faults = {}) {
    return bisect([&] { return device(faults); }, of);
  }

  static std::string first_op(const bisect_report& report) {
    if (!report.first_op) return "none";
    const auto& op = report.ops[*report.first_op];
    return std::to_string(op.layer) + " " + std::string{name_of(op.op)};
  }

  std::shared_ptr<model> weights;
  bisect_sources sources;
};

TEST_F(bisecting, ASoundModelHolds) {
  for (const auto of : {draft_pattern::classic, draft_pattern::all,
                        draft_pattern::none, draft_pattern::alternating,
                        draft_pattern::mixed, draft_pattern::random}) {
    const auto played = pattern(of, 4, 3);
    const auto report = run(played);
    EXPECT_EQ(report.error, "");
    EXPECT_FALSE(report.first) << name_of(of) << " " << report.first->what;
    EXPECT_GE(report.rows, 40);
    EXPECT_EQ(report.rows, played.kept_rows());
    EXPECT_EQ(report.logits_rows, report.rows);
  }
}

TEST_F(bisecting, WrongDraftsStandInRejectedRows) {
  const auto played = pattern(draft_pattern::none, 4);
  std::int64_t rejected = 0;
  for (const auto& items : played.steps) {
    for (const auto& item : items) {
      const auto rows = static_cast<std::int64_t>(item.tokens.size());
      EXPECT_EQ(item.kept, 1);
      rejected += rows - item.kept;
    }
  }
  EXPECT_GT(rejected, 100);
}

struct known_fault {
  const char* fault;
  const char* op;
};

TEST_F(bisecting, NamesTheOpThatAFaultIsIn) {
  for (const auto& [fault, op] : std::initializer_list<known_fault>{
           {"op=norm layer=1 phase=verify ulp=1", "1 norm"},
           {"op=query layer=0 phase=verify ulp=1", "0 query"},
           {"op=key layer=1 phase=verify ulp=64", "1 key"},
           {"op=value layer=1 phase=verify item_row=2 ulp=64", "1 value"},
           {"op=rope_query layer=1 phase=verify ulp=1", "1 rope_query"},
           {"op=rope_key layer=0 phase=verify ulp=64", "0 rope_key"},
           {"op=kv_write layer=1 phase=verify ulp=1", "1 kv_write"},
           {"op=attention layer=1 phase=verify item_row=3 ulp=1",
            "1 attention"},
           {"op=output layer=0 phase=verify position>=50 ulp=1", "0 output"},
           {"op=network_norm layer=0 phase=verify ulp=1", "0 network_norm"},
           {"op=gate layer=1 phase=verify ulp=1", "1 gate"},
           {"op=up layer=0 phase=verify rows>=4 ulp=1", "0 up"},
           {"op=activation layer=1 phase=verify ulp=1", "1 activation"},
           {"op=down layer=0 phase=verify ulp=1", "0 down"},
           {"op=embed phase=verify ulp=1", "-1 embed"},
           {"op=final_norm phase=verify ulp=1", "-1 final_norm"},
           {"op=logits phase=verify ulp=1 element=5", "-1 logits"},
           {"op=rollback", "0 kv_write"}}) {
    const auto report = run(pattern(draft_pattern::mixed, 4, 0, fault), fault);
    EXPECT_EQ(report.error, "") << fault;
    EXPECT_GT(report.faulted_rows, 0) << fault;
    ASSERT_TRUE(report.first) << fault;
    EXPECT_EQ(first_op(report), op) << fault;
    EXPECT_FALSE(report.capture_changed) << fault;
    EXPECT_GT(report.capture_rows, 0) << fault;
    const auto& first = report.ops[*report.first_op];
    EXPECT_GT(first.differing_bytes, 0);
    EXPECT_LE(first.differing_bytes, first.total_bytes);
    for (std::size_t i = 0; i < *report.first_op; ++i) {
      EXPECT_EQ(report.ops[i].differing_bytes, 0) << fault;
    }
  }
}

TEST_F(bisecting, TheRowIsTheFirstOne) {
  const char* fault =
      "op=attention layer=1 position>=60 phase=verify ulp=100000";
  const auto report = run(pattern(draft_pattern::all, 3, 0, fault), fault);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->position, 60);
  EXPECT_EQ(report.first->what, "logits");
  EXPECT_EQ(report.first->kind, row_kind::verify);
  EXPECT_EQ(report.first->item_rows, 3);
}

TEST_F(bisecting, NeighboursMakeTheFault) {
  const char* fault = "op=output layer=1 mixed_rows>=6 ulp=1";
  EXPECT_FALSE(run(pattern(draft_pattern::mixed, 4, 1, fault), fault).first);
  const auto report = run(pattern(draft_pattern::mixed, 4, 2, fault), fault);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->items, 3);
  EXPECT_EQ(report.first->sequence, 0U);
  EXPECT_EQ(first_op(report), "1 output");
}

TEST_F(bisecting, APickThatDiffersIsNoOp) {
  const char* fault = "op=sampler_position";
  const auto report =
      run(pattern(draft_pattern::all, 4, 0, fault, 1.0F), fault);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->what, "pick");
  EXPECT_FALSE(report.first_op);
  EXPECT_FALSE(report.ops.empty());
}

TEST_F(bisecting, ANanInABlockIsADifference) {
  const char* fault = "op=logits phase=verify item_row=1 nan";
  const auto report = run(pattern(draft_pattern::all, 4, 0, fault), fault);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->what, "logits hold a NaN");
  EXPECT_EQ(report.first->at.row, 1);
}

/// The rounds of a case, as a server would write them down.
std::string transcript_of(const bisect_case& of) {
  const auto& s = of.sequences[0];
  const auto at = [&](std::int64_t p) {
    return s.tokens[static_cast<std::size_t>(p)];
  };
  const sequence_name name{"r1", 0};
  transcript_sequence head;
  head.name = name;
  head.prompt_tokens = s.prompt;
  head.last_token = at(s.prompt - 1);
  head.budget = 100;
  head.context = 512;
  head.widths = width_set::up_to(4);
  head.drafter = "scripted";
  transcript_burst burst;
  burst.name = name;
  burst.last_token = at(s.prompt);
  burst.generated = 1;
  burst.cache = s.prompt;
  burst.verdict = "equal";
  auto text = to_line(head) + to_line(burst);
  std::int64_t index = 0;
  for (const auto& items : of.steps) {
    const auto& item = items.at(0);
    transcript_round round;
    round.name = name;
    round.round = index++;
    round.width = static_cast<std::int64_t>(item.tokens.size());
    round.position = item.position;
    round.anchor = item.tokens[0];
    round.drafts = {item.tokens.begin() + 1, item.tokens.end()};
    round.picks.assign(item.tokens.size(), 0);
    round.accepted = item.kept - 1;
    round.cache_before = item.position;
    round.cache_after = item.position + item.kept;
    round.verdict = "equal";
    text += to_line(round);
  }
  return text;
}

TEST_F(bisecting, ATranscriptIsPlayedAgain) {
  const char* fault = "op=gate layer=1 item_rows=4 item_row=2 ulp=1";
  const auto live = pattern(draft_pattern::alternating, 4, 0, fault);
  const auto entries = parse_transcript("t", transcript_of(live));
  const auto blind = case_of_transcript("t", entries, {"r1", 0}, sources);
  EXPECT_EQ(blind.notes.size(), 1U);
  auto known = sources;
  known.text = [&](const sequence_name&) { return live.sequences[0].tokens; };
  const auto played = case_of_transcript("t", entries, {"r1", 0}, known);
  EXPECT_TRUE(played.notes.empty());
  EXPECT_EQ(played.sequences[0].tokens, live.sequences[0].tokens);
  ASSERT_EQ(played.steps.size(), live.steps.size());
  for (std::size_t i = 0; i < live.steps.size(); ++i) {
    EXPECT_EQ(played.steps[i][0].tokens, live.steps[i][0].tokens);
    EXPECT_EQ(played.steps[i][0].kept, live.steps[i][0].kept);
  }
  for (const auto& each : {blind, played}) {
    const auto report = run(each, fault);
    ASSERT_TRUE(report.first);
    EXPECT_EQ(report.first->at.row, 2);
    EXPECT_EQ(first_op(report), "1 gate");
    EXPECT_FALSE(run(each).first);
  }
  EXPECT_THROW((void)case_of_transcript("t", entries, {"r2", 0}, sources),
               input_error);
  known.text = [](const sequence_name&) { return std::vector<token_id>(60); };
  EXPECT_THROW((void)case_of_transcript("t", entries, {"r1", 0}, known),
               input_error);
}

TEST_F(bisecting, EvidenceIsPlayedAgainWithItsNeighbours) {
  const char* fault = "op=output layer=0 mixed_rows>=6 ulp=1";
  // What a trip would hold: a block between two rows, as served and alone.
  auto live = pattern(draft_pattern::all, 4, 2, fault);
  live.steps.resize(1);
  const auto served = play(*device(fault), live, bisect_arm::blocks);
  const auto alone = play(*device(fault), live, bisect_arm::rows);
  trip_evidence trip;
  auto& record = trip.finding.record;
  step work;
  for (const auto& item : live.steps[0]) {
    step_item one;
    one.slot = static_cast<slot_id>(10 + item.sequence);
    one.kind = item.kind;
    one.position = static_cast<std::int32_t>(item.position);
    one.tokens = item.tokens;
    work.items.push_back(one);
    if (item.sequence != 0) continue;
    record.kind = item.kind;
    record.position = one.position;
    record.rows = static_cast<std::int32_t>(item.kept);
    const auto& tokens = live.sequences[0].tokens;
    record.tokens = {tokens.begin(), tokens.begin() + one.position + 4};
  }
  record.prompt_tokens = static_cast<std::int32_t>(live.sequences[0].prompt);
  record.sampling = live.sequences[0].sampling;
  record.work = std::make_shared<const step>(work);
  for (const auto& row : served.rows) {
    if (row.sequence == 0) record.logits_hashes.push_back(*row.logits);
  }
  for (const auto& row : alone.rows) {
    if (row.sequence != 0) continue;
    trip.finding.classic.push_back(
        {row.position, *row.logits, row.state, row.pick, row.kv});
  }
  const auto played =
      case_of_evidence(parse_evidence("trip.json", json_of(trip)), sources);
  EXPECT_EQ(played.sequences.size(), 3U);
  EXPECT_EQ(played.notes.size(), 1U);
  const auto report = run(played, fault);
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->sequence, 0U);
  EXPECT_EQ(report.first->items, 3);
  EXPECT_EQ(first_op(report), "0 output");
  EXPECT_EQ(report.served_again, true);
  EXPECT_EQ(report.classic_again, true);
  const auto sound = run(played);
  EXPECT_FALSE(sound.first);
  EXPECT_EQ(sound.served_again, false);
  EXPECT_EQ(sound.classic_again, true);
}

TEST_F(bisecting, TooFewPositionsAreToldBefore) {
  const auto played = pattern(draft_pattern::all, 4);
  EXPECT_THROW((void)needs_of(played, 60), input_error);
  const auto needs = needs_of(played, 512);
  EXPECT_EQ(needs.slots, 1);
  EXPECT_GE(needs.step_rows, 32);
}

}  // namespace
}  // namespace vouch::engine
