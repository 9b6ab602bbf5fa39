#include "tests/engine/gate/planted_faults.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace vouch::engine::test
