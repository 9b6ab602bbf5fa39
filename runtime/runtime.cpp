#include "runtime/runtime.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <spdlog/spdlog.h>

#include "actors/metrics.hpp"
#include "actors/supervisor.hpp"
#include "engine/error.hpp"
#include "engine/schedule/policy.hpp"
#include "runtime/build_info.hpp"
#include "runtime/load.hpp"
#include "runtime/shutdown.hpp"
#include "runtime/speculation_news.hpp"

namespace vouch::runtime {

using loader = std::function<components(const std::function<void(double)>&)>;

struct runtime::impl {
  caf::actor_system& system;
  std::shared_ptr<actors::board> notices = std::make_shared<actors::board>();
  std::shared_ptr<actors::metrics> counters =
      std::make_shared<actors::metrics>();
  actors::supervisor_actor supervisor;

  impl(caf::actor_system& home, const config& settings, loader load);

  /// What runs in LOADER.
  actors::components load_parts(const loader& load);
  std::shared_ptr<const actors::serving> ready() const;
  /// Slots and rows that a policy can use: the executor's, or while it is not
  /// there, those that it will at least have.
  engine::executor_limits executor_room() const;

  mutable std::mutex mutex;
  // Guarded by mutex; written by LOADER before the state becomes ready.
  model_info info;

  /// `wanted`, as far as the kernel plan lets it: blocks that were made under
  /// `fast` never serve anyone else.
  engine::policy permitted(engine::policy wanted) const {
    wanted.cache.prefix_cache = wanted.cache.prefix_cache && shares_blocks;
    return wanted;
  }

  // Guarded by mutex: the policy that was set last.
  engine::policy rules;

  bool shares_blocks = true;

  // Of the policy at the start.
  std::int32_t first_max_running = 0;
  std::int32_t first_step_tokens = 0;
};

namespace {

void tell(const news_line& line) {
  const auto level = line.level == news_level::info      ? spdlog::level::info
                     : line.level == news_level::warning ? spdlog::level::warn
                                                         : spdlog::level::err;
  spdlog::log(level, "{}", line.text);
}

}  // namespace

runtime::impl::impl(caf::actor_system& home, const config& settings,
                    loader load)
    : system(home) {
  actors::supervisor_setup setup;
  // `this` outlives LOADER: the destructor waits for SUPERVISOR's end, which
  // comes after LOADER's.
  setup.load = [this, load = std::move(load)] { return load_parts(load); };
  shares_blocks = settings.kernels.plan != "fast";
  rules = permitted(settings.policy);
  setup.rules = rules;
  setup.steps_in_flight = settings.engine.steps_in_flight;
  setup.notices = notices;
  setup.counters = counters;
  setup.warn = [](const std::string& message) { spdlog::error(message); };
  notices->watch_speculation([](const actors::speculation_view& before,
                                const actors::speculation_view& now) {
    for (const auto& line : speculation_news(before, now)) {
      tell(line);
    }
  });
  first_max_running = settings.policy.limits.max_running;
  first_step_tokens = settings.policy.limits.step_tokens;
  counters->use_vllm_names(settings.server.vllm_metric_names);
  counters->policy_loaded();
  supervisor =
      home.spawn<caf::detached>(actors::supervisor_behavior, std::move(setup));
}

actors::components runtime::impl::load_parts(const loader& load) {
  auto loaded = load([this](double share) {
    if (notices->stop_asked()) {
      throw std::runtime_error("the load was given up");
    }
    notices->set_load_share(share);
  });
  notices->set_load_share(1.0);
  {
    const std::lock_guard lock{mutex};
    info = loaded.info;
  }
  auto make = std::move(loaded.parts.make_executor);
  loaded.parts.make_executor = [this, make = std::move(make),
                                fingerprint = loaded.info.fingerprint,
                                name = loaded.info.name] {
    auto device = make();
    {
      const std::lock_guard lock{mutex};
      info.max_context = device->limits().context;
    }
    counters->set_build_info(version(), device->description(), fingerprint,
                             name);
    return device;
  };
  return std::move(loaded.parts);
}

std::shared_ptr<const actors::serving> runtime::impl::ready() const {
  auto model = notices->model();
  if (!model) {
    throw std::logic_error("the model is not loaded yet");
  }
  return model;
}

engine::executor_limits runtime::impl::executor_room() const {
  if (const auto model = notices->model()) {
    return model->limits;
  }
  engine::executor_limits room;
  room.slots = first_max_running;
  room.step_rows = first_step_tokens;
  return room;
}

runtime::runtime(caf::actor_system& system, config settings)
    : impl_(std::make_unique<impl>(
          system, settings,
          [settings](const std::function<void(double)>& progress) {
            return load_components(settings, progress);
          })) {}

runtime::runtime(caf::actor_system& system, config settings, components served)
    : impl_(std::make_unique<impl>(
          system, settings,
          [served = std::move(served)](const auto&) { return served; })) {}

runtime::~runtime() {
  if (!shut_down(impl_->system, impl_->supervisor)) {
    // Actors that did not end in time still use it. Not the handle: where they
    // end after all (a process that was stopped for a while), nothing may keep
    // the system from ending too.
    impl_->supervisor = nullptr;
    static_cast<void>(impl_.release());
  }
}

state runtime::current_state() const { return impl_->notices->state(); }
double runtime::load_share() const { return impl_->notices->load_share(); }
bool runtime::healthy() const { return impl_->notices->healthy(); }
void runtime::wait_until_ready() { impl_->notices->wait_until_ready(); }

std::optional<model_info> runtime::model() const {
  if (!impl_->notices->model()) {
    return std::nullopt;
  }
  const std::lock_guard lock{impl_->mutex};
  return impl_->info;
}

void runtime::submit(actors::generation_request request,
                     actors::client_actor client) {
  caf::anon_send(impl_->supervisor,
                 actors::incoming{std::move(request), std::move(client)});
}

void runtime::cancel(const std::string& request_id) {
  caf::anon_send(impl_->supervisor, actors::cancel_atom_v, request_id);
}

bool runtime::drain(std::chrono::milliseconds deadline) {
  bool by_themselves = false;
  caf::scoped_actor self{impl_->system};
  self->request(impl_->supervisor, caf::infinite, actors::drain_atom_v,
                std::int64_t{deadline.count()})
      .receive([&](bool value) { by_themselves = value; },
               [](const caf::error&) {});
  return by_themselves;
}

void runtime::reload_policy(const std::string& file) {
  std::map<std::string, std::string> origins;
  auto rules = engine::load_policy(file, &origins);
  set_policy(std::move(rules), origins);
}

void runtime::set_policy(engine::policy rules,
                         const std::map<std::string, std::string>& origins) {
  const auto check = [&](const std::string& key, std::int32_t value,
                         std::int32_t most) {
    if (value <= most) {
      return;
    }
    const auto place = origins.find(key);
    throw engine::input_error(
        place == origins.end() ? "policy" : place->second,
        key + ": " + std::to_string(value) + " is more than the " +
            std::to_string(most) +
            " that were made room for at the start; this needs a restart");
  };
  const auto room = impl_->executor_room();
  check("limits.max_running", rules.limits.max_running, room.slots);
  check("limits.step_tokens", rules.limits.step_tokens, room.step_rows);
  rules = impl_->permitted(std::move(rules));
  {
    const std::lock_guard lock{impl_->mutex};
    impl_->rules = rules;
  }
  caf::anon_send(impl_->supervisor, actors::policy_change{std::move(rules)});
}

engine::policy runtime::current_policy() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->rules;
}

std::vector<engine::token_id> runtime::tokenize(
    std::string_view text, const engine::encode_options& options) const {
  return impl_->ready()->parts.tokenizer->encode(text, options);
}

std::string runtime::detokenize(const std::vector<engine::token_id>& tokens,
                                bool skip_special_tokens) const {
  return impl_->ready()->parts.tokenizer->decode(tokens, skip_special_tokens);
}

std::string runtime::token_text(engine::token_id token) const {
  return impl_->ready()->parts.tokenizer->token_text(token);
}

std::string runtime::token_bytes(engine::token_id token) const {
  return std::string{impl_->ready()->parts.tokenizer->token_bytes(token)};
}

std::string runtime::apply_template(const std::string& messages,
                                    const std::string& tools,
                                    const std::string& variables,
                                    bool add_generation_prompt) const {
  const auto model = impl_->ready();
  if (!model->parts.chat_template) {
    throw engine::template_error("the model has no chat template");
  }
  engine::template_input input;
  input.messages = messages;
  input.tools = tools;
  input.variables = variables;
  input.add_generation_prompt = add_generation_prompt;
  input.special_tokens = model->special_tokens;
  input.now = std::chrono::system_clock::now();
  return engine::joined(model->parts.chat_template->render(input));
}

actors::speculation_view runtime::speculation() const {
  return impl_->notices->speculation();
}

std::string runtime::metrics() const { return impl_->counters->text(); }

engine::scheduler_stats runtime::stats() const {
  return impl_->counters->stats();
}

void configure(caf::actor_system_config& system_config) {
  system_config.add_message_types<caf::id_block::vouch>();
  // CAF's default, "stealing", lets idle workers sleep between looks at the
  // queue; a request would wait for them.
  system_config.set("scheduler.policy", caf::atom("sharing"));
  // The pool in which templates and tokenising run: bounded, so that they
  // cannot take the cores from the steps.
  const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
  system_config.set("scheduler.max-threads",
                    static_cast<std::int64_t>(std::min(cores, 4U)));
}

}  // namespace vouch::runtime
