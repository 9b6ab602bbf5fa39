#include "engine/gate/loan_map.hpp"

#include <algorithm>
#include <utility>

namespace vouch::engine {

loan_map::loan_map(loan lent) : lent_{std::move(lent)} {}

executor_limits loan_map::limits(executor_limits served) const {
  served.blocks = static_cast<std::int32_t>(lent_.blocks.size());
  served.slots = static_cast<std::int32_t>(lent_.slots.size());
  return served;
}

block_id loan_map::block(block_id own) const {
  return lent_.blocks.at(static_cast<std::size_t>(own));
}

slot_id loan_map::slot(slot_id own) const {
  return lent_.slots.at(static_cast<std::size_t>(own));
}

std::vector<block_id> loan_map::blocks(const std::vector<block_id>& own) const {
  std::vector<block_id> out(own.size());
  std::transform(own.begin(), own.end(), out.begin(),
                 [this](block_id each) { return block(each); });
  return out;
}

void loan_map::lay(scheduler::planned_step& planned) const {
  for (auto& each : planned.released) each = slot(each);
  for (auto& each : planned.opened) each.slot = slot(each.slot);
  for (auto& each : planned.histories) each.slot = slot(each.slot);
  for (auto& copy : planned.work.copies) {
    copy = {block(copy.from), block(copy.to)};
  }
  for (auto& item : planned.work.items) {
    item.slot = slot(item.slot);
    item.blocks = blocks(item.blocks);
  }
}

}  // namespace vouch::engine
