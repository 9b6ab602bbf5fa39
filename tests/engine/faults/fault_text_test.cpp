#include <stdexcept>

#include <gtest/gtest.h>

#include "engine/faults/fault_plan.hpp"

namespace vouch::engine {
namespace {

std::string error_of(std::string_view text) {
  try {
    fault_plan::parse(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

TEST(FaultText, ReadsWhereWhenAndWhat) {
  const auto spec = parse_fault(
      "op=rope_query layer=3 rows>=2 rows<=7 position=10-20 "
      "phase=verify after=rollback after_step=5 every=3 ulp=-2 "
      "element=4");
  EXPECT_EQ(spec.site, fault_site::model);
  EXPECT_EQ(spec.op, model_op::rope_query);
  EXPECT_EQ(spec.range(fault_key::layer), (fault_range{3, 3}));
  EXPECT_EQ(spec.range(fault_key::rows), (fault_range{2, 7}));
  EXPECT_EQ(spec.range(fault_key::position), (fault_range{10, 20}));
  EXPECT_EQ(spec.range(fault_key::items), fault_range{});
  EXPECT_EQ(spec.phase, row_kind::verify);
  EXPECT_TRUE(spec.after_rollback);
  EXPECT_EQ(spec.after_step, 5U);
  EXPECT_EQ(spec.every, 3U);
  EXPECT_EQ(spec.effect, fault_effect::ulp);
  EXPECT_EQ(spec.ulps, -2);
  EXPECT_EQ(spec.element, 4);
}

TEST(FaultText, ComesBackInOneSpelling) {
  const std::vector<std::pair<const char*, const char*>> spellings{
      {"ulp=1  rows<=7\top=logits rows>=2", "op=logits rows=2-7 ulp=1"},
      {"op=attention layer=* ulp=2 phase=verify",
       "op=attention phase=verify ulp=2"},
      {"op=kv_write stale after=rollback layer=0-1",
       "op=kv_write layer<=1 after=rollback stale=1"},
      {"op=embed swap=1 batch_row=0 every=1", "op=embed batch_row=0 swap=1"},
      {"op=norm nan position>=4096", "op=norm position>=4096 nan=1"},
      {"op=down zero after_step=9 mixed_rows>=3",
       "op=down mixed_rows>=3 after_step=9 zero=1"},
      {"op=rollback", "op=rollback"},
      {"op=sampler_position item_row=1", "op=sampler_position item_row=1"},
      {"op=penalties items>=2", "op=penalties items>=2"},
      {"op=width most=8 ulp=1 item_rows>=3",
       "op=width item_rows>=3 most=8 ulp=1"},
      {"op=prefix_cache wrong_block", "op=prefix_cache wrong_block=1"},
      {"op=prefix_cache position>=32 extra_block=1",
       "op=prefix_cache position>=32 extra_block=1"},
      {"op=preemption after_step=3", "op=preemption after_step=3"},
      {"op=stop item_row>=1", "op=stop item_row>=1"},
      {"op=taps ulp=1", "op=taps ulp=1"},
  };
  for (const auto& [text, spelling] : spellings) {
    const auto spec = parse_fault(text);
    EXPECT_EQ(spec.text(), spelling);
    EXPECT_EQ(parse_fault(spelling), spec) << spelling;
  }
  for (const auto op : model_op_names) {
    const auto text = "op=" + std::string{op} + " ulp=1";
    EXPECT_EQ(parse_fault(text).text(), text);
  }
}

TEST(FaultText, APlanHoldsFaultsLineByLine) {
  const auto plan =
      fault_plan::parse("op=logits ulp=1\n\n op=stop ;op=norm layer=1 nan\n");
  ASSERT_EQ(plan.specs().size(), 3U);
  EXPECT_EQ(plan.text(), "op=logits ulp=1; op=stop; op=norm layer=1 nan=1");
  EXPECT_EQ(fault_plan::parse(plan.text()).specs(), plan.specs());
  EXPECT_TRUE(fault_plan::parse(" \n;").empty());
  EXPECT_EQ(fault_plan{}.text(), "");
}

TEST(FaultText, ErrorsNameTheKey) {
  const std::vector<std::pair<const char*, const char*>> wrong{
      {"layer=3 ulp=1", "op: is missing"},
      {"op=rope ulp=1", "op: there is no op 'rope'"},
      {"op=model ulp=1", "op: there is no op 'model'"},
      {"op=logits op=norm ulp=1", "op: given twice"},
      {"op>=logits ulp=1", "op: takes '='"},
      {"op=logits lyer=3 ulp=1", "lyer: no such key"},
      {"op=logits own ulp=1", "own: no such key"},
      {"op=logits =3 ulp=1", ": no such key"},
      {"op=logits", "op: an effect is missing"},
      {"op=logits layer=3 ulp=1", "layer: this op has no layers"},
      {"op=taps layer=* ulp=1", "layer: this op has no layers"},
      {"op=norm layer=x ulp=1", "layer: 'x' is not a number"},
      {"op=norm layer= ulp=1", "layer: '' is not a number"},
      {"op=norm layer=3- ulp=1", "layer: '' is not a number"},
      {"op=norm layer=-1 ulp=1", "layer: '' is not a number"},
      {"op=norm layer=5-3 ulp=1", "layer: no number is in the range"},
      {"op=norm layer>3 ulp=1", "layer: takes '=', '>=' or '<='"},
      {"op=norm layer ulp=1", "layer: takes '=', '>=' or '<='"},
      {"op=norm rows>=3 rows>=4 ulp=1", "rows: given twice"},
      {"op=norm rows>=3 rows=4 ulp=1", "rows: given twice"},
      {"op=norm rows=4 rows<=5 ulp=1", "rows: given twice"},
      {"op=norm rows>=6 rows<=5 ulp=1", "rows: no number is in the range"},
      {"op=norm rows>=99999999999999999999 ulp=1", "rows: '9999"},
      {"op=norm rows>=2x ulp=1", "rows: '2x' is not a number"},
      {"op=norm phase=draft ulp=1", "phase: is prefill, decode or verify"},
      {"op=norm after=preemption ulp=1", "after: can only be rollback"},
      {"op=norm every=0 ulp=1", "every: '0' is not a number from 1"},
      {"op=norm ulp=0", "ulp: 0 changes nothing"},
      {"op=norm ulp", "ulp: takes '='"},
      {"op=norm ulp=1 zero", "zero: a fault has one effect"},
      {"op=norm zero=2", "zero: stands alone or is 1"},
      {"op=norm zero>=1", "zero: stands alone or is 1"},
      {"op=norm zero element=1", "element: goes with ulp"},
      {"op=norm most=8 ulp=1", "most: is op=width's"},
      {"op=norm wrong_block", "wrong_block: is op=prefix_cache's"},
      {"op=width ulp=1", "most: is missing"},
      {"op=width most=8", "ulp: is missing"},
      {"op=width most=8 ulp=1 phase=verify", "phase: this op is of verify"},
      {"op=rollback stale=1", "stale: this op has its own effect"},
      {"op=rollback after=rollback", "after: this op lies behind a rollback"},
      {"op=sampler_position phase=verify", "phase: this op is of verify rows"},
      {"op=prefix_cache", "op: wrong_block or extra_block is missing"},
      {"op=prefix_cache ulp=1", "op: wrong_block or extra_block is missing"},
      {"op=prefix_cache wrong_block rows>=2", "rows: this op is not part of"},
      {"op=preemption item_row=1", "item_row: this op has no rows"},
      {"op=stop phase=verify", "phase: this op is not part of a step"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_NE(
        error_of(text).find("1: fault '" + std::string{text} + "': " + why),
        std::string::npos)
        << text << "\n"
        << error_of(text);
  }
  EXPECT_EQ(error_of("op=stop; op=norm nan; op=norm").find("3: fault"), 0U);
}

TEST(FaultPlan, IsAskedForOneSiteWithARow) {
  const auto plan = fault_plan::parse(
      "op=prefix_cache position>=32 extra_block\n"
      "op=prefix_cache after_step=10 wrong_block\n"
      "op=stop item_row=1-2 every=2");
  fault_row row;
  row.step = 1;
  EXPECT_TRUE(plan.has(fault_site::prefix_cache));
  EXPECT_FALSE(plan.has(fault_site::preemption));
  EXPECT_FALSE(plan.active(fault_site::preemption, row));
  EXPECT_FALSE(plan.active(fault_site::prefix_cache, row));
  row.position = 32;
  ASSERT_TRUE(plan.active(fault_site::prefix_cache, row));
  EXPECT_EQ(plan.find(fault_site::prefix_cache, row)->effect,
            fault_effect::extra_block);
  row.position = 0;
  row.step = 10;
  EXPECT_FALSE(plan.active(fault_site::prefix_cache, row));
  row.step = 11;
  EXPECT_EQ(plan.find(fault_site::prefix_cache, row)->effect,
            fault_effect::wrong_block);
  EXPECT_FALSE(plan.active(fault_site::stop, row));
  row.item_row = 2;
  EXPECT_TRUE(plan.active(fault_site::stop, row));
  row.step = 12;
  EXPECT_FALSE(plan.active(fault_site::stop, row));
}

}  // namespace
}  // namespace vouch::engine
