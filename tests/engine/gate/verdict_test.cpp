#include "engine/gate/verdict.hpp"

#include <gtest/gtest.h>

#include "engine/error.hpp"

namespace vouch::engine {
namespace {

verdict equal_below(std::int64_t positions) {
  verdict made;
  made.state = verdict_state::equal;
  made.rows = 500;
  made.kv_rows = 400;
  made.positions = positions;
  made.when_ms = 1'700'000'000'000;
  made.source = verdict_source::measured;
  return made;
}

verdict tripped_at(std::int64_t position) {
  verdict made;
  made.state = verdict_state::tripped;
  made.reason = "audit";
  made.first = divergence{position, 2, 7, 2048, "logits: burst"};
  made.evidence = "/somewhere";
  return made;
}

verdict_table some_table() {
  verdict_table table;
  table.alone = equal_below(1024);
  table.batch = equal_below(1024);
  table.widths[2] = equal_below(512);
  table.widths[8].reason = "the pool is too small";
  return table;
}

TEST(Verdict, NamesGoBothWays) {
  for (const auto state : {verdict_state::not_run, verdict_state::equal,
                           verdict_state::diverges, verdict_state::tripped}) {
    EXPECT_EQ(verdict_state_of(name_of(state)), state);
  }
  EXPECT_EQ(verdict_state_of("fine"), std::nullopt);
}

TEST(Verdict, JsonGoesBothWays) {
  auto table = some_table();
  table.widths[4] = tripped_at(77);
  auto read = parse_verdict_table("t", json_of(table));
  EXPECT_EQ(read.batch.source, verdict_source::stored);
  EXPECT_EQ(read.widths.at(4).first, table.widths.at(4).first);
  for (auto* each : {&table.alone, &table.batch, &table.widths[2],
                     &table.widths[4], &table.widths[8]}) {
    each->source = verdict_source::stored;
  }
  EXPECT_EQ(read, table);
}

TEST(Verdict, JsonIsReadStrictly) {
  const auto good = json_of(some_table());
  const auto refuses = [&](const std::string& from, const std::string& to) {
    auto text = good;
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_THROW(parse_verdict_table("t", text), input_error) << text;
  };
  refuses("\"rows\":500", "\"rows\":-1");
  refuses("\"rows\":500", "\"rows\":0");
  refuses("\"rows\":500", "\"rows\":\"500\"");
  refuses("\"positions\":1024", "\"positions\":0");
  refuses("\"state\":\"equal\"", "\"state\":\"good\"");
  refuses(",\"evidence\":\"\"", "");
  refuses("\"2\":", "\"1\":");
  refuses("\"batch\":", "\"other\":");
  refuses("{\"alone\"", "[\"alone\"");
}

TEST(Verdict, LadderGoesDownOnlyByWhatWasMeasured) {
  verdict_table table;
  EXPECT_EQ(table.lowest_allowed(), rung::batched);
  table = some_table();
  EXPECT_EQ(table.lowest_allowed(), rung::burst);
  table.widths[2] = tripped_at(3);
  EXPECT_EQ(table.lowest_allowed(), rung::batched);
  table.batch.state = verdict_state::diverges;
  EXPECT_EQ(table.lowest_allowed(), rung::alone);
  table.alone = tripped_at(3);
  EXPECT_EQ(table.lowest_allowed(), rung::unvouched);
}

TEST(Verdict, TripsOutrankLaterMeasurements) {
  auto stored = some_table();
  stored.widths[4] = tripped_at(9);
  stored.batch = tripped_at(8);
  auto fresh = some_table();
  fresh.widths[4] = equal_below(4096);
  const auto merged = with_trips_of(fresh, stored);
  EXPECT_TRUE(merged.batch.tripped());
  EXPECT_TRUE(merged.widths.at(4).tripped());
  EXPECT_TRUE(merged.widths.at(2).equal());
  EXPECT_TRUE(merged.any_tripped());
}

TEST(Verdict, DescribesItselfForPeople) {
  EXPECT_EQ(describe(equal_below(1024)),
            "equal below position 1024 over 500 rows");
  EXPECT_EQ(describe(tripped_at(5)),
            "tripped: audit: logits: burst differ at position 5, row 2, 7 of "
            "2048 bytes");
  EXPECT_EQ(describe(verdict{}), "not run");
}

}  // namespace
}  // namespace vouch::engine
