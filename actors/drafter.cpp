#include "actors/drafter.hpp"

#include <exception>
#include <utility>

namespace vouch::actors {
namespace {

using self_pointer = drafter_actor::stateful_pointer<drafter_state>;

/// The tokens of the order's sequences as they are now. An order that does not
/// follow the one before is a defect of its sender's: such a sequence is left
/// out.
std::vector<const draft_order::job*> take_tokens(drafter_state& state,
                                                 const draft_order& order) {
  for (const auto id : order.ended) {
    state.sequences.erase(id);
  }
  std::vector<const draft_order::job*> known;
  for (const auto& job : order.jobs) {
    auto& sequence = state.sequences[job.ask.id];
    sequence.history.insert(sequence.history.end(), job.fresh.begin(),
                            job.fresh.end());
    if (static_cast<std::int64_t>(sequence.history.size()) == job.size &&
        job.size > 0) {
      known.push_back(&job);
    }
  }
  return known;
}

drafts draft_here(drafter_state& state, const draft_order& order) {
  drafts answer;
  answer.number = order.number;
  const auto begin = std::chrono::steady_clock::now();
  try {
    std::vector<engine::draft_job> jobs;
    const auto known = take_tokens(state, order);
    for (const auto* job : known) {
      auto& sequence = state.sequences[job->ask.id];
      if (!sequence.drafts) {
        sequence.drafts = state.setup.host->open();
      }
      jobs.push_back(
          {sequence.drafts.get(), sequence.history, job->ask.width, {}});
    }
    state.setup.host->propose(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      answer.answers.push_back({known[i]->ask.id, std::move(jobs[i].result)});
    }
  } catch (const std::exception& error) {
    answer.answers.clear();
    answer.problem = error.what();
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  answer.seconds = spent.count();
  return answer;
}

void send_to(self_pointer self, const caf::weak_actor_ptr& asker,
             drafts answer) {
  if (const auto strong = asker.lock()) {
    self->send(caf::actor_cast<scheduler_actor>(strong), std::move(answer));
  }
}

void draft_there(self_pointer self, const draft_order& order,
                 caf::weak_actor_ptr asker) {
  auto& state = self->state;
  engine::draft_batch batch;
  batch.id = ++state.last_batch;
  drafter_state::waiting waiting{{}, order.number, std::move(asker)};
  for (const auto* job : take_tokens(state, order)) {
    auto& history = state.sequences[job->ask.id].history;
    batch.items.push_back({job->ask.slot, history.back(),
                           static_cast<std::int32_t>(job->size - 1),
                           job->ask.width});
    waiting.ids.push_back(job->ask.id);
  }
  state.batches.emplace(batch.id, std::move(waiting));
  self->send(state.setup.engine, std::move(batch));
}

drafts answer_of(const drafter_state::waiting& order,
                 engine::draft_result& result) {
  drafts answer;
  answer.number = order.number;
  answer.seconds = result.seconds;
  answer.problem = std::move(result.error);
  for (std::size_t i = 0;
       i < result.items.size() && result.items.size() == order.ids.size();
       ++i) {
    auto& item = result.items[i];
    if (answer.problem.empty()) {
      answer.problem = std::move(item.problem);
    }
    answer.answers.push_back({order.ids[i], std::move(item.proposal)});
  }
  return answer;
}

}  // namespace

drafter_actor::behavior_type drafter_behavior(self_pointer self,
                                              drafter_setup setup) {
  self->state.setup = std::move(setup);
  return {
      [self](draft_order& order) {
        auto asker =
            caf::actor_cast<caf::weak_actor_ptr>(self->current_sender());
        if (self->state.setup.host) {
          send_to(self, asker, draft_here(self->state, order));
        } else {
          draft_there(self, order, std::move(asker));
        }
      },
      [self](engine::draft_result& result) {
        auto& batches = self->state.batches;
        const auto found = batches.find(result.id);
        if (found == batches.end()) {
          return;
        }
        send_to(self, found->second.asker, answer_of(found->second, result));
        batches.erase(found);
      },
  };
}

}  // namespace vouch::actors
