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

std::string counted(std::int32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
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
  auto sizes = {planned.batches.front(), planned.batches.back()};
  for (const auto size : sizes) {
    if (!made.empty() && size == planned.batches.front()) continue;
    made.push_back(profile(on, "decode, " + counted(size, "sequence"),
                           planned.tokens, repeat, [&] {
                             return on.decode(
                                 {batch.data(), static_cast<std::size_t>(size)},
                                 planned.depth, planned.tokens);
                           }));
  }
  auto prompt = on.open(texts.tokens(planned.prompt, 0), planned.prompt);
  made.push_back(profile(
      on, "prefill, " + counted(planned.prompt, "token"), 1, repeat,
      [&] { return on.prefill(prompt, planned.prompt, planned.chunk); }));
  return made;
}

}  // namespace vouch::cli::bench
