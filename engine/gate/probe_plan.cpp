// The texts and the stages of a probe.
#include "engine/gate/probe_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/cache/block_pool.hpp"
#include "engine/gate/probe_scenarios.hpp"

namespace vouch::engine {
namespace {

/// Rows past the prompt in stages after the first, which only go on.
constexpr std::int64_t stage_walk = 64;
constexpr std::int64_t longest_real_prompt = 96;

/// Blocks that a probe may ask for.
std::int64_t room_of(const executor_limits& served) {
  return served.blocks - served.blocks / 8;
}

class planner {
 public:
  explicit planner(const probe_options& options)
      : o_{options}, random_{options.seed} {
    widest_ = 1;
    for (const int width : o_.widths) widest_ = std::max(widest_, width);
    const auto room = room_of(o_.setup.limits) * block_tokens;
    context_ = std::min<std::int64_t>(o_.setup.limits.context, room);
  }

  probe_plan make() {
    const auto last = o_.last_positions > 0
                          ? std::min(o_.last_positions, context_)
                          : context_;
    auto reach = std::min(o_.positions, last);
    add_first_stage(reach);
    while (reach < last) {
      reach = std::min(reach * 2, last);
      add_stage(reach);
    }
    for (auto& stage : plan_.stages) {
      for (const auto& task : stage.tasks) {
        const auto one = need_of(task.played, plan_, o_.setup.limits);
        stage.need.blocks = std::max(stage.need.blocks, one.blocks);
        stage.need.slots = std::max(stage.need.slots, one.slots);
      }
    }
    return std::move(plan_);
  }

 private:
  /// The last block of every width ends behind what is to be vouched for.
  std::int64_t extra() const { return 2 * widest_ + 2; }

  std::vector<token_id> synthetic(std::int64_t n) {
    std::vector<token_id> tokens;
    const auto vocabulary = static_cast<std::uint64_t>(o_.setup.vocabulary);
    while (static_cast<std::int64_t>(tokens.size()) < n) {
      const auto token = static_cast<token_id>(random_() % vocabulary);
      if (o_.setup.mask && token == *o_.setup.mask) continue;
      tokens.push_back(token);
    }
    return tokens;
  }

  /// The prompt at its own length, or repeated and cut to `fit` tokens.
  std::vector<token_id> real(std::size_t index, std::int64_t fit) {
    if (o_.prompts.empty() ||
        o_.prompts[index % o_.prompts.size()].tokens.empty()) {
      return synthetic(fit > 0 ? fit : 40);
    }
    const auto& own = o_.prompts[index % o_.prompts.size()].tokens;
    auto length = fit;
    if (fit == 0) {
      length = std::min<std::int64_t>(static_cast<std::int64_t>(own.size()),
                                      longest_real_prompt);
    }
    std::vector<token_id> tokens;
    for (std::int64_t i = 0; i < length; ++i) {
      tokens.push_back(own[static_cast<std::size_t>(i) % own.size()]);
    }
    return tokens;
  }

  std::size_t add_text(std::string name, std::vector<token_id> prompt,
                       std::size_t sampling, std::int64_t generate) {
    probe_text text;
    text.name = std::move(name);
    const auto most = std::max<std::int64_t>(1, context_ - generate);
    if (static_cast<std::int64_t>(prompt.size()) > most) {
      prompt.resize(static_cast<std::size_t>(most));
    }
    text.prompt = static_cast<std::int64_t>(prompt.size());
    text.tokens = std::move(prompt);
    text.sampling = probe_sampling(sampling, o_.setup.vocabulary,
                                   o_.seed + plan_.texts.size());
    plan_.texts.push_back(std::move(text));
    plan_.generated.push_back(
        std::min(generate, context_ - plan_.texts.back().prompt));
    return plan_.texts.size() - 1;
  }

  std::size_t add_long_text(std::int64_t reach, std::int64_t walk) {
    const auto total = std::min(reach + extra(), context_);
    const auto generate = std::min(walk + extra() + 8, total * 2 / 3);
    const auto prompt = o_.prompt_tokens > 0 && plan_.texts.empty()
                            ? o_.prompt_tokens
                            : total - generate;
    return add_text("synthetic of " + std::to_string(prompt), synthetic(prompt),
                    0, generate);
  }

  void build(probe_stage& stage, std::size_t text) {
    probe_task task;
    task.builds = true;
    task.played.name = "classic: " + plan_.texts[text].name;
    task.played.prefix_cache = false;
    task.played.sequences.push_back({text, plan_.generated[text]});
    // One text has logits on its prompt's rows as well.
    task.played.sequences[0].prompt_logits = plan_.stages.empty() && text == 1;
    stage.tasks.push_back(std::move(task));
  }

  void add_first_stage(std::int64_t reach) {
    probe_stage stage;
    stage.positions = reach;
    const auto some = std::min(o_.walk / 2 + extra(), context_ / 2);
    const auto few = std::min(std::min<std::int64_t>(o_.walk / 4, 48) + extra(),
                              context_ / 2);
    first_stage_texts texts;
    texts.longest = add_long_text(reach, o_.walk);
    texts.greedy = add_text("chat", real(0, 0), 0, some);
    texts.penalties = add_text("German", real(1, 0), 1, some);
    // Bursts that move on by one row begin at S - 2, S - 1, S, S + 1, ...
    texts.split = add_text(
        "at a split", real(2, std::min(o_.split, context_ / 2) - 2), 3, few);
    texts.one = add_text("one token", synthetic(1), 2, few);
    for (std::size_t i = 0; i < plan_.texts.size(); ++i) build(stage, i);
    const scenario_maker make{o_, plan_, texts};
    make.add_alone(stage);
    make.add_batch(stage);
    for (const int width : o_.widths) make.add_width(stage, width);
    plan_.stages.push_back(std::move(stage));
  }

  void add_stage(std::int64_t reach) {
    probe_stage stage;
    stage.positions = reach;
    const auto text = add_long_text(reach, stage_walk);
    build(stage, text);
    add_higher_positions(o_, plan_, text, stage);
    plan_.stages.push_back(std::move(stage));
  }

  const probe_options& o_;
  std::mt19937_64 random_;
  probe_plan plan_;
  int widest_ = 1;
  std::int64_t context_ = 0;
};

}  // namespace

probe_plan plan_probe(const probe_options& options) {
  return planner{options}.make();
}

sampling_params probe_sampling(std::size_t kind, token_id vocabulary,
                               std::uint64_t seed) {
  sampling_params p;
  p.temperature = 0.0F;
  p.seed = seed;
  p.vocab_limit = vocabulary;
  switch (kind % 4) {
    case 1:
      p.temperature = 0.8F;
      p.top_p = 0.95F;
      p.presence_penalty = 0.8F;
      p.frequency_penalty = 0.7F;
      p.repetition_penalty = 1.3F;
      p.logit_bias = {{vocabulary / 2, 1.5F}, {vocabulary / 3, -2.0F}};
      p.stop_tokens = {vocabulary - 1};
      p.ignore_eos = true;
      break;
    case 2:
      p.temperature = 1.0F;
      p.top_k = 40;
      p.min_p = 0.02F;
      break;
    case 3:
      p.frequency_penalty = 1.5F;
      p.presence_penalty = 1.0F;
      p.repetition_penalty = 1.5F;
      break;
    default:
      break;
  }
  return p;
}

gate_need need_of(const scenario& played, const probe_plan& plan,
                  const executor_limits& served) {
  gate_need need;
  for (const auto& each : played.sequences) {
    need.blocks += blocks_for(plan.texts[each.text].prompt + each.tokens) + 1;
    ++need.slots;
  }
  if (played.blocks > 0) need.blocks = played.blocks;
  // Those that follow one another share what they have.
  std::int64_t largest = 0;
  bool in_turn = false;
  for (const auto& each : played.sequences) {
    largest = std::max(largest,
                       blocks_for(plan.texts[each.text].prompt + each.tokens));
    in_turn = in_turn || each.after >= 0;
  }
  if (in_turn) need.blocks = std::min(need.blocks, 2 * largest + 8);
  need.blocks = std::min(need.blocks, room_of(served));
  need.slots = std::min<int>(need.slots, served.slots);
  return need;
}

}  // namespace vouch::engine
