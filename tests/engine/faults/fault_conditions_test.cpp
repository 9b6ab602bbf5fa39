// Every condition, by which rows of a fixed trace of steps a fault hits. The op
// is the embedding, whose rows depend on their own token alone.

#include <functional>

#include <gtest/gtest.h>

#include "tests/engine/faults/faulted_run.hpp"

namespace vouch::engine {
namespace {

using test::decode;
using test::faulted_run;
using test::prefill;
using test::some_tokens;
using test::verify;

using steps = std::vector<std::vector<step_item>>;

/// Two sequences: cut prefills, beside each other and alone, decode and verify
/// rows, rejected drafts in steps 5 and 7.
steps trace() {
  const std::vector<block_id> a{1, 2, 3};
  const std::vector<block_id> b{7};
  return {
      {prefill(0, 0, some_tokens(0, 7), a)},
      {prefill(0, 7, some_tokens(7, 20), a),
       prefill(1, 0, some_tokens(50, 55), b)},
      {decode(0, 20, 3, a), decode(1, 5, 4, b)},
      {verify(0, 21, some_tokens(21, 25), a), decode(1, 6, 5, b)},
      {verify(0, 23, some_tokens(33, 36), a)},
      {decode(1, 7, 9, b), verify(0, 26, some_tokens(26, 28), a)},
      {decode(0, 27, 8, a)},
  };
}

/// What conditions see of the trace's rows.
std::vector<fault_row> rows_of(const steps& all) {
  std::vector<fault_row> rows;
  for (std::size_t s = 0; s < all.size(); ++s) {
    std::int64_t total = 0;
    for (const auto& item : all[s]) {
      total += static_cast<std::int64_t>(item.tokens.size());
    }
    std::int64_t index = 0;
    for (const auto& item : all[s]) {
      for (std::size_t i = 0; i < item.tokens.size(); ++i) {
        fault_row row;
        row.step = s + 1;
        row.rows = total;
        row.items = static_cast<std::int64_t>(all[s].size());
        row.mixed_rows = row.items > 1 ? total : 0;
        row.batch_row = index++;
        row.item_rows = static_cast<std::int64_t>(item.tokens.size());
        row.item_row = static_cast<std::int64_t>(i);
        row.position = item.position + static_cast<std::int64_t>(i);
        row.phase = item.kind;
        row.rewritten = (s == 4 && i < 2) || s == 6;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

/// The embedding rows of a run of the trace, and how many rows each step
/// reported as faulted.
struct outcome {
  std::vector<test::seen_row> rows;
  std::vector<std::int64_t> faulted;
};

outcome play(faulted_run& run) {
  run.open(0, 20);
  run.open(1, 5);
  outcome result;
  for (const auto& items : trace()) {
    const auto done = run.run(items);
    EXPECT_EQ(done.error, "");
    result.faulted.push_back(done.faulted_rows);
    const auto rows = run.rows(run.steps, model_op::embed);
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  }
  return result;
}

/// Which rows of the trace differ from a run without faults.
std::vector<bool> hit_rows(const outcome& result) {
  static const auto clean = [] {
    faulted_run run;
    return play(run);
  }();
  std::vector<bool> hit;
  for (std::size_t i = 0; i < clean.rows.size(); ++i) {
    hit.push_back(result.rows.at(i).bytes != clean.rows[i].bytes);
  }
  return hit;
}

using predicate = std::function<bool(const fault_row&)>;

std::vector<bool> expected_rows(const predicate& holds) {
  std::vector<bool> expected;
  for (const auto& row : rows_of(trace())) {
    expected.push_back(holds(row));
  }
  return expected;
}

TEST(FaultConditions, EachHitsItsRows) {
  using row = const fault_row&;
  const std::vector<std::pair<const char*, predicate>> cases{
      {"", [](row) { return true; }},
      {"rows>=5", [](row r) { return r.rows >= 5; }},
      {"rows<=2", [](row r) { return r.rows <= 2; }},
      {"rows=3", [](row r) { return r.rows == 3; }},
      {"rows=2-5", [](row r) { return r.rows >= 2 && r.rows <= 5; }},
      {"rows=*", [](row) { return true; }},
      {"mixed_rows>=3", [](row r) { return r.mixed_rows >= 3; }},
      {"mixed_rows=0", [](row r) { return r.items == 1; }},
      {"items>=2", [](row r) { return r.items >= 2; }},
      {"batch_row>=1", [](row r) { return r.batch_row >= 1; }},
      {"batch_row=4", [](row r) { return r.batch_row == 4; }},
      {"item_rows<=4", [](row r) { return r.item_rows <= 4; }},
      {"item_row=0", [](row r) { return r.item_row == 0; }},
      {"item_row>=3", [](row r) { return r.item_row >= 3; }},
      {"position>=16", [](row r) { return r.position >= 16; }},
      {"position=5-6",
       [](row r) { return r.position == 5 || r.position == 6; }},
      {"phase=prefill", [](row r) { return r.phase == row_kind::prefill; }},
      {"phase=decode", [](row r) { return r.phase == row_kind::decode; }},
      {"phase=verify", [](row r) { return r.phase == row_kind::verify; }},
      {"after=rollback", [](row r) { return r.rewritten; }},
      {"after_step=3", [](row r) { return r.step > 3; }},
      {"every=2", [](row r) { return r.step % 2 == 1; }},
      {"after_step=1 every=3",
       [](row r) { return r.step == 2 || r.step == 5; }},
      {"after_step=2 mixed_rows>=3 batch_row>=1 phase=verify",
       [](row r) {
         return r.step > 2 && r.mixed_rows >= 3 && r.batch_row >= 1 &&
                r.phase == row_kind::verify;
       }},
      {"position>=4096", [](row) { return false; }},
  };
  for (const auto& [condition, holds] : cases) {
    const auto text = std::string{"op=embed ulp=1 "} + condition;
    faulted_run run{text};
    const auto result = play(run);
    EXPECT_EQ(hit_rows(result), expected_rows(holds)) << text;
    // What a step reports is what was hit in it.
    std::vector<std::int64_t> counts(trace().size());
    for (const auto& each : rows_of(trace())) {
      counts[each.step - 1] += holds(each) ? 1 : 0;
    }
    EXPECT_EQ(result.faulted, counts) << text;
  }
}

TEST(FaultConditions, LayersAreChosen) {
  faulted_run clean;
  play(clean);
  const std::vector<std::pair<const char*, std::vector<bool>>> cases{
      {"layer=0", {true, false}},  {"layer=1", {false, true}},
      {"layer=0-1", {true, true}}, {"layer>=1", {false, true}},
      {"layer=*", {true, true}},   {"layer=2", {false, false}}};
  for (const auto& [condition, layers] : cases) {
    // The key is 0 before it is rotated only if it was made so.
    faulted_run run{std::string{"op=key zero phase=decode "} + condition};
    play(run);
    for (std::int32_t layer = 0; layer < 2; ++layer) {
      const auto row = run.rows(3, model_op::key, layer).at(0).bytes;
      EXPECT_EQ(row == std::vector<std::byte>(row.size()),
                layers[static_cast<std::size_t>(layer)])
          << condition << " in " << layer;
    }
  }
}

TEST(FaultConditions, SeveralFaultsAreIndependent) {
  faulted_run run{
      "op=embed ulp=1 phase=decode; op=embed ulp=3 rows=3; op=logits nan "
      "position>=4096"};
  EXPECT_EQ(hit_rows(play(run)), expected_rows([](const fault_row& r) {
              return r.phase == row_kind::decode || r.rows == 3;
            }));
}

TEST(FaultConditions, APlanIsSwappedBetweenSteps) {
  faulted_run run;
  EXPECT_EQ(hit_rows(play(run)),
            expected_rows([](const fault_row&) { return false; }));
  // Steps are counted from the swap on.
  run.device->set_faults(std::make_shared<fault_plan>(
      fault_plan::parse("op=embed ulp=1 after_step=4")));
  EXPECT_EQ(hit_rows(play(run)),
            expected_rows([](const fault_row& r) { return r.step > 4; }));
  run.device->set_faults(nullptr);
  EXPECT_EQ(hit_rows(play(run)),
            expected_rows([](const fault_row&) { return false; }));
  run.device->set_faults(std::make_shared<fault_plan>());
  EXPECT_EQ(hit_rows(play(run)),
            expected_rows([](const fault_row&) { return false; }));
}

TEST(FaultConditions, ObservingAndIdleFaultsChangeNoByte) {
  // A plan that never holds, an observer and neither give the same logits, K
  // and V.
  std::vector<std::vector<std::uint64_t>> made;
  for (const int kind : {0, 1, 2}) {
    faulted_run run{kind == 2 ? "op=kv_write stale position>=4096; op=query "
                                "zero layer=2"
                              : ""};
    if (kind == 0) run.device->observe_ops({});
    run.open(0, 20);
    run.open(1, 5);
    std::vector<std::uint64_t> hashes;
    for (const auto& items : trace()) {
      for (const auto& item : run.run(items).items) {
        hashes.insert(hashes.end(), item.logits_hashes.begin(),
                      item.logits_hashes.end());
      }
    }
    run.device->hash_kv({{1, 2}, 0, 28}, [&](const kv_hashes& kv) {
      hashes.insert(hashes.end(), kv.hashes.begin(), kv.hashes.end());
    });
    run.device->observe_ops({});  // waits
    EXPECT_EQ(run.seen.empty(), kind == 0);
    made.push_back(std::move(hashes));
  }
  EXPECT_EQ(made[0].size(), 17U + 28U);
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0], made[2]);
}

}  // namespace
}  // namespace vouch::engine
