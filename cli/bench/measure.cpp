#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cli/bench/device.hpp"
#include "cli/bench/figures.hpp"
#include "cli/bench/load.hpp"
#include "cli/bench/part_times.hpp"
#include "cli/bench/plan.hpp"
#include "cli/bench/rounds.hpp"
#include "cli/bench/text.hpp"
#include "cli/progress_bar.hpp"
#include "engine/checkpoint/checkpoint.hpp"
#include "kernels/cores.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/machine_limits.hpp"
#include "kernels/matmul.hpp"

namespace vouch::cli::bench {

namespace {

/// What sampled decode samples with.
constexpr float temperature = 0.8F;
constexpr float top_p = 0.95F;

/// A figure before its rounds are over.
struct planned_figure {
  figure made;
  std::size_t series = 0;
  /// The series that `ratio` compares with.
  std::optional<std::size_t> base;
  /// Bytes read by a step, or operations with quantised weights; 0: no share.
  double work = 0.0;
};

/// Multiply-adds with quantised weights: of every prompt row, and of the rows
/// that have logits.
struct multiply_adds {
  double row = 0.0;
  double head = 0.0;
};

multiply_adds count_multiply_adds(const engine::checkpoint& source) {
  multiply_adds counted;
  const bool tied = source.config().tied_head;
  for (const auto& tensor : source.tensors()) {
    if (tensor.shape.size() != 2 ||
        !kernels::wants_quantized_activations(tensor.type)) {
      continue;
    }
    const auto elements = static_cast<double>(tensor.shape[0]) *
                          static_cast<double>(tensor.shape[1]);
    if (tensor.name.starts_with("model.layers.")) {
      counted.row += elements;
    } else if (tensor.name ==
               (tied ? "model.embed_tokens.weight" : "lm_head.weight")) {
      counted.head += elements;
    }
  }
  return counted;
}

/// Everything that is timed in rounds, on one device.
class timed_work {
 public:
  timed_work(const plan& planned, device& on, const prompts& texts,
             const results& facts)
      : plan_(planned), device_(on), facts_(facts) {
    for (std::int32_t s = 0; s < plan_.sequences(); ++s) {
      batch_.push_back(
          device_.open(texts.tokens(plan_.sequence_capacity() + 1, 17 * s),
                       plan_.sequence_capacity()));
      device_.prefill(batch_.back(), plan_.depth, plan_.chunk);
    }
  }

  void add_prefill(rounds& all, const prompts& texts, multiply_adds work) {
    prompt_ = device_.open(texts.tokens(plan_.prompt, 0), plan_.prompt);
    const auto series = all.add(
        [this] { return device_.prefill(prompt_, plan_.prompt, plan_.chunk); });
    add(part::prefill, plan_.prompt, plan_.prompt, series)->work =
        2.0 * (plan_.prompt * work.row + work.head);
  }

  void add_decode(rounds& all) {
    for (const auto size : plan_.batches) {
      const auto series = all.add([this, size] {
        return device_.decode(first(batch_, size), plan_.depth, plan_.tokens);
      });
      add(part::decode, size, size, series)->work =
          step_bytes(size, plan_.depth);
    }
  }

  void add_verify(rounds& all) {
    // Units are of a step of one row, asked for or not.
    auto widths = plan_.widths;
    if (widths.front() != 1) widths.insert(widths.begin(), 1);
    std::optional<std::size_t> one;
    for (const auto width : widths) {
      const auto series = all.add([this, width] {
        return device_.verify(batch_.front(), plan_.depth, width, plan_.tokens);
      });
      one = one.value_or(series);
      if (width == 1 && plan_.widths.front() != 1) continue;
      add(part::verify, width, width, series)->base = one;
    }
  }

  void add_sampled(rounds& all) {
    for (std::int32_t s = 0; s < plan_.sampled.back(); ++s) {
      sampled_.push_back(device_.open_twin(batch_[static_cast<std::size_t>(s)],
                                           temperature, top_p));
    }
    for (const auto size : plan_.sampled) {
      const auto greedy = all.add([this, size] {
        return device_.decode(first(batch_, size), plan_.depth, plan_.tokens);
      });
      const auto series = all.add([this, size] {
        return device_.decode(first(sampled_, size), plan_.depth, plan_.tokens);
      });
      add(part::sampled, size, size, series)->base = greedy;
    }
  }

  void add_contexts(rounds& all, const prompts& texts) {
    const auto longest = plan_.contexts.back();
    long_.push_back(device_.open(texts.tokens(longest + 1, 0), longest));
    device_.prefill(long_.front(), longest, plan_.chunk);
    for (const auto context : plan_.contexts) {
      const auto position = context - plan_.tokens;
      const auto series = all.add([this, position] {
        return device_.decode(long_, position, plan_.tokens);
      });
      add(part::contexts, context, 1, series)->work = step_bytes(1, position);
    }
  }

  std::vector<figure> finish(const rounds& all, const results& found) const {
    std::vector<figure> made;
    for (const auto& planned : figures_) {
      made.push_back(planned.made);
      auto& each = made.back();
      const auto& values = all.values(planned.series);
      each.seconds = spread_of(values);
      if (planned.base) {
        const auto& base = all.values(*planned.base);
        each.ratio = each.what == part::sampled ? ratios_of(base, values)
                                                : ratios_of(values, base);
      }
      const auto& limit =
          each.what == part::prefill ? found.dot_limit : found.read_limit;
      if (planned.work > 0.0) {
        each.share = planned.work / each.seconds.median / limit.median;
      }
    }
    return made;
  }

 private:
  static std::span<sequence> first(std::vector<sequence>& of,
                                   std::int32_t count) {
    return {of.data(), static_cast<std::size_t>(count)};
  }

  planned_figure* add(part what, std::int32_t size, std::int32_t tokens,
                      std::size_t series) {
    planned_figure planned;
    planned.made.what = what;
    planned.made.size = size;
    planned.made.tokens = tokens;
    planned.series = series;
    figures_.push_back(std::move(planned));
    return &figures_.back();
  }

  /// Weights, and keys and values as they stand in the middle of the steps.
  double step_bytes(std::int32_t sequences, std::int32_t position) const {
    const double context = position + (plan_.tokens + 1) / 2.0;
    return static_cast<double>(facts_.weight_bytes) +
           sequences * context * static_cast<double>(facts_.kv_token_bytes);
  }

  const plan& plan_;
  device& device_;
  const results& facts_;
  std::vector<sequence> batch_;
  std::vector<sequence> sampled_;
  std::vector<sequence> long_;
  sequence prompt_;
  std::vector<planned_figure> figures_;
};

/// Decode under each kernel plan, on a device of its own.
class both_plans {
 public:
  both_plans(const plan& planned, const std::shared_ptr<engine::model>& model,
             engine::cpu_executor_options settings, const prompts& texts)
      : plan_{planned} {
    for (const auto kind :
         {kernels::kernel_plan::invariant, kernels::kernel_plan::fast}) {
      settings.plan = kind;
      auto& side = sides_.emplace_back();
      side.on = std::make_unique<device>(model, settings);
      for (std::int32_t s = 0; s < plan_.batches.back(); ++s) {
        side.batch.push_back(
            side.on->open(texts.tokens(plan_.sequence_capacity() + 1, 17 * s),
                          plan_.sequence_capacity()));
        side.on->prefill(side.batch.back(), plan_.depth, plan_.chunk);
      }
    }
  }

  void add_to(rounds& all) {
    for (const auto size : plan_.batches) {
      for (auto& side : sides_) {
        side.series.push_back(all.add([this, &side, size] {
          return side.on->decode(
              {side.batch.data(), static_cast<std::size_t>(size)}, plan_.depth,
              plan_.tokens);
        }));
      }
    }
  }

  void finish(const rounds& all, std::vector<figure>& into) const {
    for (std::size_t i = 0; i < plan_.batches.size(); ++i) {
      const auto& invariant = all.values(sides_[0].series[i]);
      const auto& fast = all.values(sides_[1].series[i]);
      auto& made = into.emplace_back();
      made.what = part::plans;
      made.size = made.tokens = plan_.batches[i];
      made.seconds = spread_of(fast);
      made.base_seconds = spread_of(invariant);
      made.ratio = ratios_of(fast, invariant);
    }
  }

 private:
  struct side {
    std::unique_ptr<device> on;
    std::vector<sequence> batch;
    std::vector<std::size_t> series;
  };
  const plan& plan_;
  /// invariant, fast.
  std::vector<side> sides_;
};

}  // namespace

results measure(const options& chosen) {
  results found;
  found.path = chosen.model;
  const compute_threads threads{chosen};
  const auto& cpus = threads.cpus;
  found.threads = threads.count;
  const auto source = engine::open_checkpoint(chosen.model);
  const auto& config = source->config();
  found.model = source->default_name();
  const plan planned = make_plan(chosen, config);
  found.depth = planned.depth;
  const prompts texts{chosen.model};
  const auto kv_type =
      chosen.kv_type == "f32" ? kernels::dtype::f32 : kernels::dtype::f16;
  const kernels::kv_layout layout{config.kv_heads, config.head_dim, kv_type};
  found.kv_token_bytes = layout.block_bytes() / kernels::kv_block_tokens *
                         static_cast<std::size_t>(config.layers);
  const auto work = count_multiply_adds(*source);
  found.row_multiply_adds = static_cast<std::uint64_t>(work.row);

  const kernels::scoped_pin pin{cpus.empty() ? -1 : cpus.front()};
  kernels::thread_pool pool{found.threads, cpus};
  const auto model = load(chosen, pool, found);
  found.weight_bytes = model->weight_bytes();
  auto settings = planned.room();
  settings.threads = found.threads;
  settings.cpus = cpus;
  settings.kv_type = kv_type;
  settings.plan = kernels::find_plan(chosen.plan).value();
  {
    const kernels::read_probe probe{kernels::read_probe::enough_bytes(), pool};
    found.read_probe_bytes = probe.bytes();
    device on{model, settings};
    found.device = on.description();
    timed_work timed{planned, on, texts, found};
    rounds all;
    const auto read = all.add([&] { return probe.measure(pool); });
    const auto dot = all.add([&] { return kernels::measure_dot_rate(pool); });
    if (chosen.wants(part::prefill)) timed.add_prefill(all, texts, work);
    if (chosen.wants(part::decode)) timed.add_decode(all);
    if (chosen.wants(part::verify)) timed.add_verify(all);
    if (chosen.wants(part::sampled)) timed.add_sampled(all);
    if (!planned.contexts.empty()) timed.add_contexts(all, texts);
    std::optional<both_plans> plans;
    if (chosen.wants(part::plans)) {
      plans.emplace(planned, model, settings, texts);
      plans->add_to(all);
    }
    progress_bar bar{"Measuring"};
    all.run(chosen.repeat, [&](double share) { bar.show(share); });
    found.read_limit = spread_of(all.values(read));
    found.dot_limit = spread_of(all.values(dot));
    found.figures = timed.finish(all, found);
    if (plans) plans->finish(all, found.figures);
  }
  if (chosen.wants(part::parts)) {
    found.parts = measure_parts(planned, model, settings, texts, chosen.repeat);
  }
  return found;
}

}  // namespace vouch::cli::bench
