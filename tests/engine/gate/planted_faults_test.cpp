#include "tests/engine/gate/planted_faults.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "engine/bisect/bisect.hpp"
#include "tests/engine/row_contract/models.hpp"

namespace vouch::engine::test {
namespace {

constexpr const char* begin_mark =
    "<!-- planted faults: written by test_planted_faults -->\n";
constexpr const char* end_mark = "<!-- end of planted faults -->\n";

std::string cell(const planted_fault& fault, const found_fault& found) {
  if (!found.by.empty()) return found.by;
  if (fault.harmless) return "nothing, and rightly";
  return "-";
}

/// Tries all of them; a line of the table each.
std::string make_table() {
  std::ostringstream out;
  out << "| what goes wrong | planted | probe alone | audit alone |\n"
      << "| --- | --- | --- | --- |\n";
  for (const auto& fault : planted_faults()) {
    SCOPED_TRACE(fault.fault);
    const auto probed = probe_alone(fault);
    const auto audited = audit_alone(fault);
    if (fault.harmless) {
      EXPECT_EQ(probed.by, "");
      EXPECT_EQ(audited.by, "");
      EXPECT_GT(probed.faulted_rows, 0);
      EXPECT_GT(audited.faulted_rows, 0);
    } else {
      EXPECT_FALSE(probed.by.empty() && audited.by.empty())
          << "caught by nothing";
      EXPECT_EQ(probed.by.empty(), fault.late) << probed.by;
      EXPECT_NE(audited.by, "");
    }
    out << "| " << fault.name << " | `" << fault.fault << "` | "
        << (fault.late ? "not there yet" : cell(fault, probed)) << " | "
        << cell(fault, audited) << " |\n";
  }
  return out.str();
}

TEST(PlantedFaults, AreAllCaughtAsTheCommittedTableSays) {
  EXPECT_GE(planted_faults().size(), 20U);
  const std::string file = std::string{VOUCH_SOURCE_DIR} + "/docs/faults.md";
  std::ifstream in{file};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto begin = text.find(begin_mark);
  const auto end = text.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto from = begin + std::string{begin_mark}.size();
  const auto table = make_table();
  if (std::getenv("VOUCH_WRITE_TABLE") != nullptr) {
    text.replace(from, end - from, table);
    std::ofstream{file} << text;
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), table)
      << "VOUCH_WRITE_TABLE=1 writes it anew";
}

/// From a trip in what was served to the op, by its evidence alone.
TEST(PlantedFaults, ATripIsBisectedByItsEvidence) {
  const planted_fault fault{
      "", "op=logits mixed_rows>=3 after_step=300 ulp=1 element=7"};
  const auto found = audit_alone(fault);
  ASSERT_TRUE(found.evidence);
  const auto evidence = parse_evidence("trip.json", json_of(*found.evidence));
  const auto weights =
      vouch::test::load(std::string{VOUCH_FIXTURES} + "/llama_tiny.gguf");
  bisect_sources sources;
  sources.vocabulary = static_cast<token_id>(weights->config().vocab_size);
  sources.chunk = 64;
  const auto played = case_of_evidence(evidence, sources);
  EXPECT_GE(played.sequences.size(), 2U);
  const auto run = [&](const char* faults) {
    return bisect(
        [&] {
          cpu_executor_options o;
          o.threads = 2;
          o.blocks = 400;
          o.slots = 24;
          o.step_rows = 96;
          o.faults =
              std::make_shared<const fault_plan>(fault_plan::parse(faults));
          return make_cpu_executor(weights, o);
        },
        played);
  };
  const auto report = run("op=logits mixed_rows>=3 ulp=1 element=7");
  EXPECT_EQ(report.error, "");
  ASSERT_TRUE(report.first);
  EXPECT_EQ(report.first->position, evidence.finding.first->position);
  ASSERT_TRUE(report.first_op);
  EXPECT_EQ(report.ops[*report.first_op].op, model_op::logits);
  EXPECT_EQ(report.served_again, true);
  EXPECT_EQ(report.classic_again, true);
  EXPECT_FALSE(report.capture_changed);
  // On a machine without the fault the step is sound.
  const auto sound = run("");
  EXPECT_FALSE(sound.first);
  EXPECT_EQ(sound.served_again, false);
  EXPECT_EQ(sound.classic_again, true);
}

}  // namespace
}  // namespace vouch::engine::test
