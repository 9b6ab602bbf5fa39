#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/engine/executor/step_items.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/files.hpp"

namespace vouch::test {

/// A row of an op as an observer saw it.
struct seen_row {
  engine::step_id step;
  engine::model_op op;
  std::int32_t layer;
  engine::slot_id slot;
  std::int32_t position;
  engine::row_format format;
  std::vector<std::byte> bytes;

  bool operator==(const seen_row&) const = default;
};

/// The tiny llama, whose weights are all in 8 bits, on an executor of its own.
class faulted_run {
 public:
  explicit faulted_run(std::string_view faults = {},
                       kernels::dtype kv_type = kernels::dtype::f16) {
    engine::cpu_executor_options options;
    options.threads = 2;
    options.blocks = 32;
    options.slots = 4;
    options.step_rows = 64;
    options.kv_type = kv_type;
    options.faults =
        std::make_shared<engine::fault_plan>(engine::fault_plan::parse(faults));
    device = engine::make_cpu_executor(model(), options);
    device->observe_ops([this](const engine::op_row& row) {
      seen.push_back({row.step,
                      row.op,
                      row.layer,
                      row.slot,
                      row.position,
                      row.format,
                      {row.bytes.begin(), row.bytes.end()}});
    });
  }

  static std::shared_ptr<engine::model> model() {
    static const auto loaded = load(fixture(tiny_checkpoint));
    return loaded;
  }

  void open(engine::slot_id slot, std::int32_t prompt,
            engine::sampling_params sampling = {}) {
    device->open({slot, std::move(sampling), prompt});
  }

  /// Steps are numbered from 1.
  engine::step_result run(std::vector<engine::step_item> items) {
    ++steps;
    for (auto& item : items) {
      item.hash_logits = true;
    }
    return engine::run_step(*device, make_step(steps, std::move(items)));
  }

  /// The rows of one op in one step, in the step's order.
  std::vector<seen_row> rows(engine::step_id step, engine::model_op op,
                             std::int32_t layer = -1) const {
    std::vector<seen_row> found;
    for (const auto& row : seen) {
      if (row.step == step && row.op == op && row.layer == layer) {
        found.push_back(row);
      }
    }
    return found;
  }

  std::unique_ptr<engine::executor> device;
  std::vector<seen_row> seen;
  engine::step_id steps = 0;
};

/// Tokens that no pick decides, so that the steps are the same whatever a
/// fault changes.
inline std::vector<engine::token_id> some_tokens(std::int32_t from,
                                                 std::int32_t to) {
  std::vector<engine::token_id> tokens;
  for (auto i = from; i < to; ++i) {
    tokens.push_back((i * 37 + 11) % 256);
  }
  return tokens;
}

}  // namespace vouch::test
