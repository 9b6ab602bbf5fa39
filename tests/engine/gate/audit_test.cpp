#include "engine/gate/audit.hpp"

#include <algorithm>

#include "engine/error.hpp"
#include "engine/executor/run_step.hpp"
#include "engine/gate/evidence.hpp"
#include "tests/engine/gate/gate_fixture.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::engine {
namespace {

audit_candidate candidate(row_kind kind, std::int64_t rows,
                          bool cached = false) {
  audit_candidate item;
  item.kind = kind;
  item.rows = rows;
  item.step_rows = rows + 3;
  item.cached_prefix = cached;
  item.batched = true;
  return item;
}

audit_record record_of(row_kind kind, std::int32_t rows) {
  audit_record record;
  record.kind = kind;
  record.rows = rows;
  record.tokens.resize(static_cast<std::size_t>(rows));
  return record;
}

/// Serves steps of 10 ms with one item of each kind, and replays what is drawn
/// at 2 ms a row.
struct load {
  explicit load(audit_options options) : drawn{options} {}

  void step() {
    const audit_candidate items[] = {
        candidate(row_kind::prefill, 64), candidate(row_kind::decode, 1),
        candidate(row_kind::verify, 4), candidate(row_kind::decode, 1, true)};
    for (const auto& item : items) {
      if (!drawn.draw(item)) continue;
      ++by_kind[static_cast<std::size_t>(kind_of(item))];
      draws.push_back(steps);
      auto record = record_of(item.kind, static_cast<std::int32_t>(item.rows));
      record.cached_prefix = item.cached_prefix;
      record.hold = draws.size();
      drawn.add(std::move(record));
    }
    ++steps;
    drawn.served(0.010);
    served += 0.010;
    replay();
  }

  void replay() {
    while (drawn.owed()) {
      if (const auto need = drawn.need()) {
        loan lent;
        lent.blocks.resize(static_cast<std::size_t>(need->blocks));
        lent.slots.resize(1);
        drawn.lend(std::move(lent));
      }
      auto unit = drawn.next();
      if (!unit) break;
      gate_unit_result result;
      for (const auto& range : unit->kv) {
        result.kv.emplace_back(static_cast<std::size_t>(range.to - range.from));
      }
      for (const auto& item : unit->work.work.items) {
        step_item_result made;
        if (item.logits_begin == 0) {
          made.logits_hashes = {0};
          made.logits_states = {logits_state::sound};
        }
        result.step.items.push_back(std::move(made));
        result.step.seconds += 0.002;
      }
      spent += result.step.seconds;
      drawn.take(result);
      (void)drawn.give_back();
      (void)drawn.take_finding();
    }
  }

  audit drawn;
  std::vector<int> draws;
  std::array<int, audit_kinds> by_kind{};
  int steps = 0;
  double served = 0.0;
  double spent = 0.0;
};

TEST(AuditDraws, TakeTheirShareOfStepTime) {
  for (const double share : {0.01, 0.05}) {
    audit_options options;
    options.share = share;
    load l{options};
    while (l.steps < 20'000) l.step();
    EXPECT_NEAR(l.spent / l.served, share, 0.15 * share);
    EXPECT_FALSE(l.drawn.counts().shortfall);
    EXPECT_NEAR(l.drawn.counts().share_had, share, 0.2 * share);
  }
}

TEST(AuditDraws, EveryKindGetsItsPart) {
  load l{{}};
  while (l.steps < 20'000) l.step();
  const auto& counts = l.drawn.counts();
  std::int64_t least = 1 << 30;
  std::int64_t most = 0;
  for (std::size_t kind = 0; kind < audit_kinds; ++kind) {
    EXPECT_GT(l.by_kind[kind], 10) << kind;
    const auto rows = counts.rows[kind][0] + counts.rows[kind][1];
    least = std::min(least, rows);
    most = std::max(most, rows);
  }
  EXPECT_LT(most, 4 * least);
}

TEST(AuditDraws, AreTheSameForASeedAndOtherForAnother) {
  load one{{}};
  load same{{}};
  audit_options options;
  options.seed = 2;
  load other{options};
  for (auto* each : {&one, &same, &other}) {
    while (each->steps < 5'000) each->step();
  }
  EXPECT_EQ(one.draws, same.draws);
  EXPECT_NE(one.draws, other.draws);
}

TEST(AuditDraws, WithoutAShareNothingIsDrawn) {
  audit_options options;
  options.share = 0.0;
  load l{options};
  while (l.steps < 1'000) l.step();
  EXPECT_TRUE(l.draws.empty());
  EXPECT_FALSE(l.drawn.counts().shortfall);
}

TEST(AuditDraws, TooLittleIsTold) {
  audit drawn{{}};
  for (int i = 0; i < 1'000; ++i) drawn.served(0.01);
  EXPECT_TRUE(drawn.counts().shortfall);
}

TEST(AuditDraws, TooManyAreDropped) {
  audit_options options;
  options.queue = 2;
  audit drawn{options};
  for (std::uint64_t hold = 1; hold <= 5; ++hold) {
    auto record = record_of(row_kind::decode, 1);
    record.hold = hold;
    drawn.add(std::move(record));
  }
  EXPECT_EQ(drawn.counts().dropped, 3);
  EXPECT_EQ(drawn.take_released(), (std::vector<std::uint64_t>{3, 4, 5}));
  drawn.lost(2);
  EXPECT_EQ(drawn.counts().dropped, 4);
}

/// Items computed by the executor, and audited there.
class audit_test : public gate_test {
 protected:
  static constexpr std::int32_t prompt = 45;
  static constexpr std::int32_t width = 4;

  void SetUp() override {
    start();
    for (std::int32_t i = 0; i < prompt + width; ++i) {
      record.tokens.push_back(i * 11 % 200);
    }
    for (block_id b = 120; b < 124; ++b) record.blocks.push_back(b);
    slot_start opened;
    opened.slot = 20;
    opened.prompt_tokens = prompt;
    device->open(opened);
    step_item first;
    first.slot = 20;
    first.tokens.assign(record.tokens.begin(), record.tokens.begin() + prompt);
    first.blocks = record.blocks;
    first.logits_begin = first.pick_begin = prompt - 1;
    step_item block = first;
    block.kind = row_kind::verify;
    block.position = prompt;
    block.tokens.assign(record.tokens.begin() + prompt, record.tokens.end());
    block.logits_begin = block.pick_begin = 0;
    block.hash_logits = true;
    step work;
    work.items = {first};
    ASSERT_EQ(run_step(*device, work).error, "");
    work.items = {block};
    const auto result = run_step(*device, work);
    ASSERT_EQ(result.error, "");
    record.hold = 9;
    record.kind = row_kind::verify;
    record.batched = true;
    record.position = prompt;
    record.rows = width;
    record.prompt_tokens = prompt + width;
    record.logits_hashes = result.items[0].logits_hashes;
    record.logits_states = result.items[0].logits_states;
    record.work = std::make_shared<const step>(work);
  }

  audit_options always(bool cold) const {
    audit_options options;
    options.cold_share = cold ? 1.0 : 0.0;
    options.chunk = 32;
    return options;
  }

  std::optional<audit_finding> replay(audit& a) {
    a.add(record);
    while (a.waits()) {
      if (const auto need = a.need()) a.lend(loan_of(*need));
      auto unit = a.next();
      if (!unit) break;
      EXPECT_LE(unit->work.work.items.size(), 1U);
      a.take(run_unit(*device, std::move(*unit)));
      if (a.give_back()) ++gave_back;
    }
    return a.take_finding();
  }

  audit_record record;
  int gave_back = 0;
};

TEST_F(audit_test, WarmItIsEqual) {
  audit a{always(false)};
  const auto found = replay(a);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->first) << found->first->where;
  EXPECT_FALSE(found->cold);
  EXPECT_EQ(found->rows, width);
  EXPECT_EQ(found->kv_rows, width);
  EXPECT_EQ(found->kind, audit_kind::burst);
  EXPECT_EQ(gave_back, 1);
  EXPECT_EQ(a.take_released(), (std::vector<std::uint64_t>{9}));
  EXPECT_EQ(a.counts().rows[3][0], width);
}

TEST_F(audit_test, TokensThatTheRowsDoNotPickDiffer) {
  // The block's tokens are nobody's picks.
  record.prompt_tokens = prompt;
  audit a{always(false)};
  const auto found = replay(a);
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->first);
  EXPECT_EQ(found->first->where.rfind("pick: ", 0), 0U) << found->first->where;
}

TEST_F(audit_test, ColdItIsEqualToo) {
  audit a{always(true)};
  const auto found = replay(a);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->first) << found->first->where;
  EXPECT_TRUE(found->cold);
  EXPECT_EQ(found->rows, width);
  EXPECT_EQ(found->kv_rows, prompt + width);
}

TEST_F(audit_test, APrefillIsAuditedAtItsEnd) {
  record.kind = row_kind::prefill;
  record.position = 0;
  record.rows = prompt + width;
  record.hash_begin = prompt;
  audit a{always(false)};
  const auto found = replay(a);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->first) << found->first->where;
  EXPECT_EQ(found->kv_rows, 16);
  EXPECT_EQ(found->rows, width);
}

TEST_F(audit_test, OtherLogitsAreFoundAtTheirRow) {
  record.logits_hashes[2] ^= 1;
  audit a{always(false)};
  const auto found = replay(a);
  ASSERT_TRUE(found && found->first);
  EXPECT_EQ(found->first->position, prompt + 2);
  EXPECT_EQ(found->first->row, 2);
  EXPECT_EQ(found->first->where, "logits: served burst, beside others");
  EXPECT_GT(a.counts().rows[3][1], 0);
}

TEST_F(audit_test, OtherKvInThePrefixIsFoundCold) {
  // A block of the prefix was overwritten with another's rows.
  record.blocks[1] = record.blocks[0];
  audit a{always(true)};
  const auto found = replay(a);
  ASSERT_TRUE(found && found->first);
  EXPECT_EQ(found->first->position, 16);
  EXPECT_EQ(found->first->where.substr(0, 3), "kv:");
}

TEST_F(audit_test, RowsThatAreNoneAreFound) {
  record.logits_states[0] = logits_state::zero;
  audit a{always(false)};
  EXPECT_EQ(replay(a)->first->position, prompt);
  record.logits_states[0] = logits_state::sound;
  record.logits_hashes.pop_back();
  audit b{always(false)};
  const auto found = replay(b);
  EXPECT_EQ(found->first->position, prompt + width - 1);
}

TEST_F(audit_test, AnItemWhoseMemoryIsGoneIsDropped) {
  for (const int after : {0, 1, 2}) {
    audit a{always(false)};
    a.add(record);
    a.lend(loan_of(*a.need()));
    for (int i = 0; i < after; ++i) {
      a.take(run_unit(*device, std::move(*a.next())));
    }
    auto out = a.next();
    a.lost(9);
    a.take(run_unit(*device, std::move(*out)));
    auto closing = a.next();
    ASSERT_TRUE(closing) << after;
    EXPECT_TRUE(closing->work.work.items.empty());
    EXPECT_FALSE(closing->work.released.empty());
    a.take(run_unit(*device, std::move(*closing)));
    EXPECT_TRUE(a.give_back());
    EXPECT_EQ(a.counts().dropped, 1);
    EXPECT_FALSE(a.take_finding());
    EXPECT_FALSE(a.waits());
  }
}

TEST_F(audit_test, AColdItemGoesOnWithoutThem) {
  audit a{always(true)};
  a.add(record);
  a.lend(loan_of(*a.need()));
  a.take(run_unit(*device, std::move(*a.next())));
  a.lost(9);
  while (auto unit = a.next()) a.take(run_unit(*device, std::move(*unit)));
  const auto found = a.take_finding();
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->first);
  EXPECT_EQ(a.counts().dropped, 0);
}

TEST_F(audit_test, EvidenceGoesBothWays) {
  record.logits_hashes[1] ^= 1;
  record.sampling.logit_bias = {{3, 0.5F}};
  record.sampling.seed = ~std::uint64_t{0};
  audit a{always(true)};
  trip_evidence evidence;
  evidence.scope = "model=x\n";
  evidence.scope_id = "0123456789abcdef";
  evidence.when_ms = 42;
  evidence.before.batch.reason = "not probed yet";
  evidence.before.batch.source = verdict_source::stored;
  evidence.before.alone.source = verdict_source::stored;
  evidence.finding = *replay(a);
  const auto text = json_of(evidence);
  const auto read = parse_evidence("trip.json", text);
  EXPECT_EQ(json_of(read), text);
  EXPECT_EQ(read.finding.first->position, prompt + 1);
  EXPECT_EQ(read.finding.record.work->items[0].tokens.size(), 4U);
  EXPECT_EQ(read.finding.record.sampling.seed, ~std::uint64_t{0});

  const test::temporary_folder folder;
  const auto own = write_evidence(folder.path() / "trips", evidence);
  EXPECT_EQ(own.filename(), "0123456789abcdef-42");
  EXPECT_TRUE(std::filesystem::exists(own / "trip.json"));

  for (const auto* field : {"\"rows\":", "\"tokens\":", "\"kv\":", "\"step\":",
                            "\"logits_hashes\":", "\"when_ms\":"}) {
    auto broken = text;
    broken.replace(broken.find(field), 2, "\"x");
    EXPECT_THROW(parse_evidence("trip.json", broken), input_error) << field;
  }
}

}  // namespace
}  // namespace vouch::engine
