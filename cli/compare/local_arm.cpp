#include "cli/compare/local_arm.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <utility>

#include "engine/executor/run_step.hpp"
#include "engine/schedule/scheduler.hpp"

namespace vouch::cli::compare {
namespace {

engine::policy policy_for(const engine::executor& device,
                          const local_setup& setup) {
  engine::policy rules;
  rules.limits.max_running = setup.parallel;
  rules.limits.step_tokens =
      static_cast<std::int32_t>(device.limits().step_rows);
  return rules;
}

class arm_loop {
 public:
  arm_loop(engine::executor& device, const local_setup& setup)
      : device_{device},
        setup_{setup},
        schedule_{policy_for(device, setup), device.limits(), 1,
                  [words = setup.words](engine::token_id token) {
                    return words->token_bytes(token);
                  }} {
    made_.classic = setup.width < 2;
    made_.answers.resize(setup.prompts.size());
    generated_.resize(setup.prompts.size());
    if (made_.classic) return;
    engine::burst_rules rules;
    rules.widths = engine::width_set::up_to(setup.width);
    rules.positions = device.limits().context;
    rules.drafts.vocabulary = setup.vocabulary;
    schedule_.set_burst_rules(rules);
  }

  arm run() {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < setup_.prompts.size(); ++i) add(i);
    while (made_.error.empty() && !schedule_.idle()) step();
    const std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - begin;
    made_.seconds = spent.count();
    for (const auto slot : slots_) device_.release(slot);
    for (std::size_t i = 0; i < generated_.size(); ++i) {
      made_.answers[i].text = setup_.words->decode(generated_[i], true);
    }
    return std::move(made_);
  }

 private:
  void add(std::size_t i) {
    engine::sequence_start start;
    start.id = i + 1;
    start.prompt = setup_.prompts[i];
    start.sampling = setup_.sampling;
    start.max_tokens = setup_.max_tokens;
    start.speculate = !made_.classic;
    if (schedule_.add(std::move(start), 0) != engine::rejection::none) {
      made_.error =
          "prompt " + std::to_string(i + 1) + " is longer than the context";
    }
    if (!made_.classic && setup_.drafter) {
      drafters_.push_back(setup_.drafter->open());
    }
  }

  void offer_drafts() {
    const auto wishes = schedule_.draft_wishes();
    if (wishes.empty()) return;
    if (setup_.drafter) {
      for (const auto& wish : wishes) {
        const auto proposal = drafters_[wish.id - 1]->propose(
            schedule_.tokens_of(wish.id), std::min(wish.most, setup_.width));
        schedule_.offer(wish.id, proposal.tokens);
      }
      return;
    }
    engine::draft_batch batch;
    batch.id = ++batches_;
    for (const auto& wish : wishes) {
      const auto tokens = schedule_.tokens_of(wish.id);
      batch.items.push_back({wish.slot, tokens.back(),
                             static_cast<std::int32_t>(tokens.size()) - 1,
                             std::min(wish.most, setup_.width)});
    }
    const auto made = engine::run_draft(device_, std::move(batch));
    if (!made.error.empty()) made_.error = made.error;
    for (std::size_t i = 0; i < made.items.size() && i < wishes.size(); ++i) {
      schedule_.offer(wishes[i].id, made.items[i].proposal.tokens);
    }
  }

  void step() {
    if (!made_.classic) offer_drafts();
    auto planned = schedule_.plan(0);
    if (!planned) {
      made_.error = "a prompt does not fit into the device's memory";
      return;
    }
    for (const auto slot : planned->released) {
      slots_.erase(slot);
      device_.release(slot);
    }
    for (auto& start : planned->opened) {
      slots_.insert(start.slot);
      start.drafts = !made_.classic;
      device_.open(std::move(start));
    }
    for (auto& past : planned->histories) {
      device_.set_history(past.slot, std::move(past.tokens));
    }
    if (setup_.bytes) {
      for (auto& item : planned->work.items) item.hash_logits = true;
    }
    const auto items = planned->work.items;
    const auto done = engine::run_step(device_, std::move(planned->work));
    if (!done.error.empty()) made_.error = done.error;
    for (const auto& update : schedule_.update(done)) {
      for (std::size_t i = 0; i < items.size() && i < done.items.size(); ++i) {
        if (planned->sequences[i] == update.id) {
          read(update, items[i], done.items[i]);
        }
      }
    }
  }

  void read(const engine::sequence_update& update,
            const engine::step_item& item,
            const engine::step_item_result& result) {
    auto& into = made_.answers[update.id - 1];
    if (!update.error.empty()) made_.error = update.error;
    const auto skip =
        static_cast<std::size_t>(item.pick_begin - item.logits_begin);
    for (std::size_t i = 0; i < update.tokens.size(); ++i) {
      const auto& picked = update.tokens[i];
      answer_token token;
      token.id = picked.token;
      token.text = setup_.words->token_text(picked.token);
      token.logprob = picked.logprob;
      if (skip + i < result.logits_hashes.size()) {
        token.logits = result.logits_hashes[skip + i];
      }
      into.tokens.push_back(std::move(token));
      generated_[update.id - 1].push_back(picked.token);
    }
    for (const auto& round : update.rounds) {
      if (round.drafts.empty()) continue;
      ++made_.rounds.rounds;
      made_.rounds.drafted += std::ssize(round.drafts);
      made_.rounds.accepted += round.outcome.accepted_emitted;
      made_.rounds.count_positions(
          round.drafts.size(),
          static_cast<std::size_t>(round.outcome.accepted));
      if (setup_.drafter) drafters_[update.id - 1]->observe(round.outcome);
    }
    if (update.finished) {
      into.finish =
          update.reason == engine::finish_reason::stop ? "stop" : "length";
    }
  }

  engine::executor& device_;
  const local_setup& setup_;
  engine::scheduler schedule_;
  std::vector<std::unique_ptr<engine::sequence_drafter>> drafters_;
  std::vector<std::vector<engine::token_id>> generated_;
  std::set<engine::slot_id> slots_;
  std::uint64_t batches_ = 0;
  arm made_;
};

}  // namespace

arm run_local(engine::executor& device, const local_setup& setup) {
  return arm_loop{device, setup}.run();
}

}  // namespace vouch::cli::compare
