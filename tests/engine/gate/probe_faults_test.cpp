#include <algorithm>

#include "tests/engine/gate/gate_fixture.hpp"

namespace vouch::engine {
namespace {

struct planted {
  const char* name;
  const char* fault;
  /// What must be called wrong: "alone", "batch", or a width.
  const char* caught_by;
};

void PrintTo(const planted& of, std::ostream* out) { *out << of.name; }

class probe_fault : public gate_test,
                    public testing::WithParamInterface<planted> {};

bool wrong(const probe& p, const std::string& key) {
  const auto& v = p.verdicts();
  if (key == "alone") return v.alone.wrong();
  if (key == "batch") return v.batch.wrong();
  return v.widths.at(std::stoi(key)).wrong();
}

TEST_P(probe_fault, IsCaught) {
  start(GetParam().fault);
  auto options = small_probe();
  options.measure_all = true;
  options.read_rows = true;
  probe p{options};
  run(p);
  EXPECT_TRUE(wrong(p, GetParam().caught_by)) << text_of(p);
  // Every width that is called equal was compared.
  for (const auto& [width, each] : p.verdicts().widths) {
    if (each.equal()) {
      EXPECT_GT(each.rows, 64) << width;
    }
    if (!each.wrong()) continue;
    EXPECT_GE(each.first->position, 0) << text_of(p);
    if (each.first->where.rfind("logits:", 0) != 0) continue;
    EXPECT_GT(each.first->total_bytes, 0) << text_of(p);
    EXPECT_GT(each.first->differing_bytes, 0) << text_of(p);
    EXPECT_LE(each.first->differing_bytes, each.first->total_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gate, probe_fault,
    testing::Values(
        planted{"MatmulFromEightRows", "op=up layer=1 rows>=8 ulp=1", "alone"},
        planted{"BatchedLogits", "op=logits items>=2 ulp=1 element=3", "batch"},
        planted{"ThreeMixedRows", "op=output mixed_rows>=3 ulp=1 element=0",
                "batch"},
        planted{"ManySequences", "op=down items>=17 ulp=1", "batch"},
        planted{"RopeOfManyRows", "op=rope_query rows>=2 ulp=1", "alone"},
        planted{"VerifyAttention", "op=attention phase=verify ulp=1", "2"},
        planted{"LastRowOfFour",
                "op=logits phase=verify item_rows=4 item_row=3 ulp=1 element=9",
                "4"},
        planted{"TailWidths", "op=width most=4 ulp=1", "3"},
        planted{"StaleAfterRollback", "op=kv_write stale=1 after=rollback",
                "2"},
        planted{"Rollback", "op=rollback", "2"},
        planted{"KvOnlyInVerify", "op=kv_write layer=1 phase=verify ulp=1",
                "4"},
        planted{"BatchPosition", "op=logits batch_row>=5 phase=verify ulp=1",
                "4"},
        planted{"BehindAPosition",
                "op=norm layer=0 phase=verify position>=100 ulp=1", "4"},
        planted{"Penalties", "op=penalties", "4"},
        planted{"SamplerPosition", "op=sampler_position", "2"},
        planted{"NanInVerify", "op=logits phase=verify item_row=1 nan", "2"},
        planted{"ZeroInVerify", "op=logits phase=verify item_row=0 zero", "3"},
        planted{"SwappedRows", "op=logits phase=verify item_row=0 swap", "2"},
        planted{"WrongCachedBlock", "op=prefix_cache wrong_block", "alone"},
        planted{"OneCachedBlockTooMany", "op=prefix_cache extra_block",
                "alone"},
        planted{"ResumedTooFar", "op=preemption", "batch"},
        planted{"StopInsideARun", "op=stop item_row>=1", "4"},
        planted{"StaleLogits", "op=logits phase=verify stale=1", "4"}),
    [](const auto& info) { return info.param.name; });

TEST_F(gate_test, AFaultOfOneWidthLeavesTheOthersOpen) {
  start("op=logits phase=verify item_rows=3 ulp=1 element=2");
  probe p{small_probe()};
  run(p);
  const auto& v = p.verdicts();
  EXPECT_TRUE(v.batch.equal());
  EXPECT_TRUE(v.widths.at(2).equal());
  // Blocks of width 4 end in tails of 3, which are not 4's fault.
  EXPECT_TRUE(v.widths.at(3).wrong());
  EXPECT_EQ(v.widths.at(3).first->where.substr(0, 7), "logits:");
}

TEST_F(gate_test, ADivergingBatchIsNotBuiltUpon) {
  start("op=logits items>=2 ulp=1 element=3");
  probe p{small_probe()};
  run(p);
  EXPECT_TRUE(p.verdicts().batch.wrong());
  EXPECT_EQ(p.verdicts().widths.at(2).state, verdict_state::not_run);
  EXPECT_EQ(p.verdicts().lowest_allowed(), rung::alone);
}

TEST_F(gate_test, StepsThatCannotRunSayNothing) {
  start();
  auto options = small_probe();
  probe p{options};
  while (!p.done()) {
    if (const auto need = p.need()) p.lend(loan_of(*need));
    auto unit = p.next();
    if (unit) {
      const bool burst = std::any_of(
          unit->work.work.items.begin(), unit->work.work.items.end(),
          [](const auto& item) { return item.kind == row_kind::verify; });
      auto result = run_unit(*device, std::move(*unit));
      if (burst) {
        result.step.items.clear();
        result.step.error = "the device is gone";
      }
      p.take(result, 1);
    }
    (void)p.give_back();
  }
  EXPECT_TRUE(p.verdicts().batch.equal());
  for (const auto& [width, each] : p.verdicts().widths) {
    EXPECT_EQ(each.state, verdict_state::not_run);
    EXPECT_NE(each.reason.find("the device is gone"), std::string::npos)
        << each.reason;
  }
}

TEST_F(gate_test, AClassicArmThatFailsVouchesForNothing) {
  start("op=logits phase=decode nan");
  probe p{small_probe()};
  run(p);
  EXPECT_TRUE(p.done());
  EXPECT_EQ(p.verdicts().batch.state, verdict_state::not_run);
  EXPECT_NE(p.verdicts().batch.reason.find("classic arm failed"),
            std::string::npos)
      << p.verdicts().batch.reason;
}

}  // namespace
}  // namespace vouch::engine
