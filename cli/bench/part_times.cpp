#include "cli/bench/part_times.hpp"

#include <functional>
#include <string>

#include "cli/bench/device.hpp"

namespace vouch::cli::bench {

namespace {

/// Medians by part over `repeat` runs of `run`, which returns seconds a step
/// and makes `steps` of them, after one that does not count.
part_times profile(device& on, std::string step, int steps, int repeat,
                   const std::function<double()>& run) {
  const auto parts = engine::step_part_names.size();
  std::vector<std::vector<double>> values(parts);
  std::vector<double> device_seconds;
  std::vector<double> wall_seconds;
  run();
  for (int i = 0; i < repeat; ++i) {
    on.reset_profile();
    wall_seconds.push_back(run());
    for (std::size_t p = 0; p < parts; ++p) {
      values[p].push_back(on.profile().seconds[p] / steps);
    }
    device_seconds.push_back(on.device_seconds() / steps);
  }
  part_times made;
  made.step = std::move(step);
  for (auto& each : values) {
    made.seconds.push_back(spread_of(std::move(each)).median);
  }
  made.device = spread_of(std::move(device_seconds)).median;
  made.wall = spread_of(std::move(wall_seconds)).median;
  return made;
}

/// What a burst verifies: the largest width up to eight.
std::int32_t usual_width(const std::vector<std::int32_t>& widths) {
  std::int32_t usual = widths.front();
  for (const auto width : widths) {
    if (width <= 8) usual = width;
  }
  return usual;
}

}  // namespace

std::vector<part_times> measure_parts(
    const plan& planned, const std::shared_ptr<engine::model>& model,
    engine::cpu_executor_options settings, const prompts& texts, int repeat) {
  settings.profile = true;
  device on{model, settings};
  std::vector<sequence> batch;
  for (std::int32_t s = 0; s < planned.batches.back(); ++s) {
    batch.push_back(on.open(texts.tokens(planned.sequence_capacity(), 17 * s),
                            planned.sequence_capacity()));
    on.prefill(batch.back(), planned.depth, planned.chunk);
  }
  std::vector<part_times> made;
  const auto add = [&](const std::string& kind, std::int32_t size, int steps,
                       const std::function<double()>& run) {
    made.push_back(
        profile(on, kind + " " + std::to_string(size), steps, repeat, run));
  };
  const auto decode = [&](std::int32_t size) {
    add("decode", size, planned.tokens, [&, size] {
      return on.decode({batch.data(), static_cast<std::size_t>(size)},
                       planned.depth, planned.tokens);
    });
  };
  decode(planned.batches.front());
  if (planned.batches.size() > 1) decode(planned.batches.back());
  const auto width = usual_width(planned.widths);
  add("verify", width, planned.tokens, [&] {
    return on.verify(batch.front(), planned.depth, width, planned.tokens);
  });
  auto prompt = on.open(texts.tokens(planned.prompt, 0), planned.prompt);
  add("prefill", planned.prompt, 1,
      [&] { return on.prefill(prompt, planned.prompt, planned.chunk); });
  return made;
}

}  // namespace vouch::cli::bench
