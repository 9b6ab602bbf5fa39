#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/burst_setup.hpp"
#include "actors/gate_setup.hpp"
#include "engine/chat_template/chat_template.hpp"
#include "engine/executor/cost_model.hpp"
#include "engine/executor/executor.hpp"
#include "engine/faults/fault_plan.hpp"
#include "engine/speculation/drafter.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::actors {

/// What a model brings to be served.
struct components {
  std::shared_ptr<const engine::tokenizer> tokenizer;
  /// May be null.
  std::shared_ptr<const engine::chat_template> chat_template;
  /// Makes the executor; again after a fault, when the one before is gone.
  std::function<std::shared_ptr<engine::executor>()> make_executor;
  /// Measures what its steps cost, before it serves anybody; may be empty.
  std::function<engine::step_cost_model(engine::executor&)> measure_costs;
  /// How it is drafted for; where a drafter runs on the executor, `drafter` is
  /// nullptr.
  burst_setup bursts;
  std::shared_ptr<const engine::drafter> drafter;
  /// May be empty.
  make_gate_setup gate;
  /// End-of-generation ids from the model's own files.
  std::vector<engine::token_id> eos;
  /// Rows of the model's head; may exceed the tokenizer's size.
  std::int64_t vocab_size = 0;
  /// Planted in what the executor made above computes, for tests; for those
  /// that lie outside of it. May be null.
  std::shared_ptr<const engine::fault_plan> faults;
};

/// What every REQUEST reads while it prepares. Immutable and shared.
struct serving {
  components parts;
  engine::executor_limits limits;
  /// {"bos_token", "<s>"}, ... for templates.
  std::vector<std::pair<std::string, std::string>> special_tokens;

  /// Token ids are 0 ... id_limit() - 1.
  std::int64_t id_limit() const;
};

/// `parts` on a device with these limits.
std::shared_ptr<const serving> make_serving(components parts,
                                            engine::executor_limits limits);

}  // namespace vouch::actors
