#include "engine/executor/measure_costs.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/executor/run_step.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::engine {

namespace {

using clock_type = std::chrono::steady_clock;

/// A kind of step, and how often it is timed.
struct probe {
  std::int32_t rows;
  bool logits;
  int times;
};

/// In the order of what is missed most when the time is over; what lies
/// between is interpolated. Two times: the first one makes room and is slower.
constexpr probe probes[] = {
    {1, true, 3},   {1, false, 3}, {4, true, 3},   {8, true, 3},
    {2, true, 3},   {8, false, 3}, {16, true, 2},  {32, true, 2},
    {3, true, 3},   {6, true, 3},  {32, false, 2}, {4, false, 3},
    {16, false, 2}, {64, true, 2}, {64, false, 2}, {5, true, 3},
    {7, true, 3},   {12, true, 2}, {24, true, 2},
};

class prober {
 public:
  explicit prober(executor& device) : device_{device} {
    const auto& limits = device.limits();
    most_rows_ = std::min<std::int64_t>(
        {limits.step_rows, limits.context,
         std::int64_t{limits.blocks} * kernels::kv_block_tokens});
    slot_start start;
    start.slot = 0;
    start.sampling.temperature = 0.0F;
    device_.open(start);
  }
  ~prober() { device_.release(0); }
  prober(const prober&) = delete;
  prober& operator=(const prober&) = delete;

  std::int64_t most_rows() const { return most_rows_; }

  /// Seconds on the device.
  double run(const probe& what) {
    step_item item;
    item.slot = 0;
    item.kind = what.logits ? row_kind::verify : row_kind::prefill;
    item.tokens.assign(static_cast<std::size_t>(what.rows), 0);
    const auto blocks =
        (what.rows + kernels::kv_block_tokens - 1) / kernels::kv_block_tokens;
    for (block_id block = 0; block < blocks; ++block) {
      item.blocks.push_back(block);
    }
    item.logits_begin = item.pick_begin = what.logits ? 0 : what.rows;
    step work;
    work.items.push_back(std::move(item));
    const auto result = run_step(device_, std::move(work));
    if (!result.error.empty()) {
      throw std::runtime_error{"measuring a step's cost: " + result.error};
    }
    return result.seconds;
  }

 private:
  executor& device_;
  std::int64_t most_rows_;
};

/// The middle one; of two the faster one.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

}  // namespace

step_cost_model measure_step_costs(executor& device,
                                   const cost_budget& budget) {
  prober steps{device};
  const auto begin = clock_type::now();
  steps.run({1, true, 1});  // wakes the threads and touches the weights
  std::vector<cost_curve::knot> bodies;
  std::vector<cost_curve::knot> whole;
  double allowed = budget.seconds;
  for (const auto& each : probes) {
    const std::chrono::duration<double> spent = clock_type::now() - begin;
    if (!whole.empty() && spent.count() >= allowed) {
      break;
    }
    if (each.rows > steps.most_rows()) {
      continue;
    }
    std::vector<double> seconds;
    seconds.reserve(static_cast<std::size_t>(each.times));
    for (int i = 0; i < each.times; ++i) {
      seconds.push_back(steps.run(each));
    }
    (each.logits ? whole : bodies).push_back({each.rows, median(seconds)});
    if (whole.size() + bodies.size() == 1) {
      allowed = std::clamp(budget.steps * whole.front().seconds, allowed,
                           std::max(allowed, budget.most_seconds));
    }
  }
  return {std::move(bodies), std::move(whole), device.limits().step_rows};
}

}  // namespace vouch::engine
