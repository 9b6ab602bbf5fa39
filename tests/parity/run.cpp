#include "tests/parity/run.hpp"

#include <deque>
#include <future>
#include <map>
#include <utility>

#include "actors/burst_desk.hpp"
#include "actors/metrics.hpp"
#include "engine/executor/executor.hpp"
#include "engine/executor/run_step.hpp"
#include "engine/faults/fault_plan.hpp"

namespace vouch::test {
namespace {

using engine::sequence_id;

class server {
 public:
  server(const std::shared_ptr<engine::model>& weights,
         std::vector<parity_sequence> sequences,
         const parity_run_options& options)
      : options_{options},
        sequences_{std::move(sequences)},
        device_{engine::make_cpu_executor(weights, device_options(options))},
        schedule_{
            rules(options), device_->limits(), options.steps_in_flight, {}},
        desk_{setup(), costs_, std::make_shared<actors::metrics>()} {
    vocabulary_ = static_cast<engine::token_id>(weights->config().vocab_size);
    result_.texts.resize(sequences_.size());
    engine::burst_rules bursts;
    bursts.widths = options.widths;
    bursts.positions = device_->limits().context;
    bursts.drafts.vocabulary = vocabulary_;
    schedule_.set_burst_rules(bursts);
  }

  parity_run run() {
    for (std::int64_t step = 0; result_.error.empty(); ++step) {
      add_due(step);
      if (schedule_.idle() && added_ == sequences_.size()) break;
      plan(step);
      if (flights_.empty()) {
        result_.error = "work is left and nothing is planned";
        break;
      }
      take();
      result_.error += schedule_.check_invariants();
    }
    while (!flights_.empty()) {
      flights_.front().done.wait();
      flights_.pop_front();
    }
    result_.stats = schedule_.stats();
    return std::move(result_);
  }

 private:
  struct flight {
    engine::scheduler::planned_step planned;
    std::future<engine::step_result> done;
  };

  static engine::cpu_executor_options device_options(
      const parity_run_options& options) {
    engine::cpu_executor_options device;
    device.threads = 2;
    device.blocks = options.blocks;
    device.slots = options.at_once;
    device.step_rows = 512;
    device.faults = std::make_shared<engine::fault_plan>(
        engine::fault_plan::parse(options.faults));
    return device;
  }

  static engine::policy rules(const parity_run_options& options) {
    engine::policy rules;
    rules.limits.max_running = options.at_once;
    rules.prefill.chunk_tokens = options.chunk;
    rules.cache.prefix_cache = options.prefix_cache;
    return rules;
  }

  actors::burst_setup setup() {
    actors::burst_setup made;
    made.width = engine::max_round_width;
    made.fixed = true;
    made.drafter = "parity";
    made.declined.reset();
    made.first_view.verdict = "equal";
    made.first_view.rules.widths = options_.widths;
    made.transcript = [this](const std::string& line) {
      result_.transcript += line;
    };
    return made;
  }

  void add_due(std::int64_t step) {
    while (added_ < sequences_.size() &&
           (schedule_.idle() ||
            (options_.at_once > 1 &&
             step >= static_cast<std::int64_t>(added_) * options_.apart))) {
      auto& each = sequences_[added_++];
      each.start.id = added_;
      desk_.open(each.start, each.label, 0);
      if (schedule_.add(each.start, 0) != engine::rejection::none) {
        result_.error = each.label + " was refused";
      }
    }
  }

  void plan(std::int64_t step) {
    while (static_cast<int>(flights_.size()) < options_.steps_in_flight) {
      for (const auto& wish : schedule_.draft_wishes()) {
        auto& each = sequences_[wish.id - 1];
        const int width = std::min(wish.most, each.width);
        if (each.drafter == nullptr || width < 2) continue;
        const auto made =
            each.drafter->propose(schedule_.tokens_of(wish.id), width);
        schedule_.offer(wish.id, made.tokens);
      }
      auto planned = schedule_.plan(step);
      if (!planned) return;
      for (const auto slot : planned->released) device_->release(slot);
      for (const auto& start : planned->opened) device_->open(start);
      for (auto& past : planned->histories) {
        device_->set_history(past.slot, std::move(past.tokens));
      }
      for (auto& item : planned->work.items) item.hash_logits = true;
      auto work = planned->work;
      flights_.push_back(
          {std::move(*planned), engine::submit(*device_, std::move(work))});
    }
  }

  void take() {
    auto done = flights_.front().done.get();
    const auto planned = std::move(flights_.front().planned);
    flights_.pop_front();
    result_.error += done.error;
    auto updates = schedule_.update(done);
    desk_.take(updates, schedule_);
    for (const auto& update : updates) {
      for (std::size_t i = 0; i < planned.sequences.size(); ++i) {
        if (planned.sequences[i] == update.id && i < done.items.size()) {
          read(update, planned.work.items[i], done.items[i]);
        }
      }
    }
  }

  void read(const engine::sequence_update& update,
            const engine::step_item& item,
            const engine::step_item_result& made) {
    const auto& each = sequences_[update.id - 1];
    auto& text = result_.texts[update.id - 1];
    result_.error += update.error;
    for (const auto& token : update.tokens) text.tokens.push_back(token.token);
    auto emitted = update.tokens.size();
    if (update.stop_token >= 0) {
      text.tokens.push_back(update.stop_token);
      ++emitted;
    }
    const auto skip =
        static_cast<std::size_t>(item.pick_begin - item.logits_begin);
    if (made.logits_hashes.size() < skip + emitted) {
      result_.error += each.label + ": hashes are missing";
      return;
    }
    for (std::size_t i = 0; i < emitted; ++i) {
      text.logits.push_back(made.logits_hashes[skip + i]);
      if (made.logits_states[skip + i] != engine::logits_state::sound) {
        result_.error += each.label + ": a row is zero or not a number";
      }
    }
    if (item.kind == engine::row_kind::verify) {
      ++text.rounds;
      const auto rows = std::ssize(item.tokens);
      text.drafted += rows - 1;
      if (rows == each.width) ++text.wide_rounds;
      for (const auto& round : update.rounds) {
        text.accepted += round.outcome.accepted_emitted;
        if (each.drafter) each.drafter->observe(round.outcome);
      }
    }
    if (!update.finished) return;
    text.reason = update.reason;
    // The last token has no row. Its blocks are nobody's yet: no step was
    // planned since.
    const auto rows = static_cast<std::int32_t>(each.start.prompt.size() +
                                                text.tokens.size()) -
                      1;
    std::promise<engine::kv_hashes> promise;
    device_->hash_kv({item.blocks, 0, rows}, [&](engine::kv_hashes hashes) {
      promise.set_value(std::move(hashes));
    });
    auto kv = promise.get_future().get();
    result_.error += kv.error;
    text.kv = std::move(kv.hashes);
  }

  parity_run_options options_;
  std::vector<parity_sequence> sequences_;
  std::unique_ptr<engine::executor> device_;
  engine::scheduler schedule_;
  engine::step_cost_model costs_;
  parity_run result_;
  actors::burst_desk desk_;
  engine::token_id vocabulary_ = 0;
  std::size_t added_ = 0;
  std::deque<flight> flights_;
};

}  // namespace

parity_run serve(const std::shared_ptr<engine::model>& weights,
                 std::vector<parity_sequence> sequences,
                 const parity_run_options& options) {
  return server{weights, std::move(sequences), options}.run();
}

}  // namespace vouch::test
