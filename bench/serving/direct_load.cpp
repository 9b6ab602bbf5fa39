#include "bench/serving/direct_load.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace vouch::bench {

namespace {

using clock_type = std::chrono::steady_clock;

struct direct_run {
  runtime::runtime& model;
  int requests;
  std::int64_t tokens;
  std::size_t prompt_bytes;
  clock_type::time_point begin = clock_type::now();

  double now() const {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
  }
};

struct direct_state {
  std::shared_ptr<direct_run> run;
  int number = 0;
  client_record records;
  std::promise<client_record> done;
};

using direct_actor = actors::client_actor::stateful_pointer<direct_state>;

void next(direct_actor self) {
  auto& state = self->state;
  auto& run = *state.run;
  const auto count = static_cast<int>(state.records.size());
  if (count == run.requests ||
      (count > 0 && !state.records.back().error.empty())) {
    state.done.set_value(std::move(state.records));
    self->quit();
    return;
  }
  state.records.emplace_back().sent = run.now();
  actors::generation_request request;
  request.id = std::to_string(state.number) + "-" + std::to_string(count);
  request.text = request.id;
  request.text.resize(std::max(run.prompt_bytes, request.id.size()), ' ');
  request.max_tokens = run.tokens;
  request.sampling.temperature = 0;
  request.sampling.ignore_eos = true;
  run.model.submit(std::move(request), actors::client_actor{self});
}

actors::client_actor::behavior_type direct_client(
    direct_actor self, std::shared_ptr<direct_run> run, int number,
    std::shared_ptr<std::promise<client_record>> done) {
  self->state.run = std::move(run);
  self->state.number = number;
  self->state.done = std::move(*done);
  next(self);
  return {
      [](actors::started&) {},
      [self](actors::tokens& event) {
        if (!event.text.empty())
          self->state.records.back().arrivals.push_back(self->state.run->now());
      },
      [self](actors::finished& event) {
        auto& record = self->state.records.back();
        record.ended = self->state.run->now();
        record.completion_tokens = event.completion_tokens;
        record.prompt_tokens = event.prompt_tokens;
        next(self);
      },
      [self](actors::failed& event) {
        self->state.records.back().error = event.message;
        next(self);
      },
  };
}

}  // namespace

std::vector<client_record> run_direct(caf::actor_system& system,
                                      runtime::runtime& model, int streams,
                                      int requests, std::int64_t tokens,
                                      std::size_t prompt_bytes) {
  auto run = std::make_shared<direct_run>(
      direct_run{model, requests, tokens, prompt_bytes});
  std::vector<std::future<client_record>> results;
  for (int i = 0; i < streams; ++i) {
    auto done = std::make_shared<std::promise<client_record>>();
    results.push_back(done->get_future());
    system.spawn(direct_client, run, i, std::move(done));
  }
  std::vector<client_record> records;
  for (auto& result : results) records.push_back(result.get());
  return records;
}

}  // namespace vouch::bench
