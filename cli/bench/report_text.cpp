#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "cli/bench/figures.hpp"
#include "engine/models/step_profile.hpp"

namespace vouch::cli::bench {

namespace {

constexpr double milli = 1e3;

/// A section's words.
struct section {
  part what;
  std::string_view title;
  std::string_view time;
  std::string_view size;
  /// The ratio or the share.
  std::string_view last;
};

constexpr section sections[] = {
    {part::prefill, "Prefill: one prompt, to its first token", "ms", "tokens",
     "of dot limit"},
    {part::decode, "Decode: one row a sequence", "ms/step", "sequences",
     "of read limit"},
    {part::verify, "Verify: one sequence, logits and picks on every row",
     "ms/step", "rows", "x one row"},
    {part::sampled, "Sampled: decode at temperature 0.8, top_p 0.95", "ms/step",
     "sequences", "x greedy"},
    {part::contexts, "Long contexts: decode, one sequence", "ms/step", "tokens",
     "of read limit"},
};

/// "median (least ... most)", 26 columns.
std::string show(const spread& of, int precision) {
  return fmt::format("{:8.{}f} {:<17}", of.median, precision,
                     fmt::format("({:.{}f} ... {:.{}f})", of.least, precision,
                                 of.most, precision));
}

void print_section(const section& words, const results& found) {
  const bool any =
      std::any_of(found.figures.begin(), found.figures.end(),
                  [&](const figure& each) { return each.what == words.what; });
  if (!any) return;
  std::cout << '\n'
            << words.title << '\n'
            << fmt::format("{:>10}{:>9}{:18}{:>8}{:>14}\n", words.size,
                           words.time, "", "tok/s", words.last);
  for (const auto& each : found.figures) {
    if (each.what != words.what) continue;
    std::cout << fmt::format("{:>10} {}{:>8.0f}", each.size,
                             show(scaled(each.seconds, milli), 2),
                             each.tokens / each.seconds.median);
    if (each.ratio) std::cout << "    " << show(*each.ratio, 2);
    if (each.share) std::cout << fmt::format("{:>12.0f} %", 100 * *each.share);
    std::cout << '\n';
  }
}

void print_plans(const results& found) {
  bool first = true;
  for (const auto& each : found.figures) {
    if (each.what != part::plans) continue;
    if (first) {
      std::cout << "\nPlans: decode, one row a sequence\n"
                << fmt::format("{:>10}{:>9}{:18}{:>9}{:18}{:>12}\n", "rows",
                               "ms, inv.", "", "fast", "", "x invariant");
    }
    first = false;
    std::cout << fmt::format("{:>10} {}{}    {}\n", each.size,
                             show(scaled(*each.base_seconds, milli), 2),
                             show(scaled(each.seconds, milli), 2),
                             show(*each.ratio, 3));
  }
}

void print_parts(const results& found) {
  if (found.parts.empty()) return;
  std::cout << "\nTime by part, ms (share of the step)\n"
            << fmt::format("{:11}", "");
  for (const auto& step : found.parts) {
    std::cout << fmt::format("{:>17}", step.step);
  }
  std::cout << '\n';
  const auto line = [&](std::string_view name, auto&& seconds_of) {
    std::cout << fmt::format("{:11}", name);
    for (const auto& step : found.parts) {
      const double seconds = seconds_of(step);
      std::cout << fmt::format("{:>9.3f} ({:3.0f} %)", milli * seconds,
                               100.0 * seconds / step.wall);
    }
    std::cout << '\n';
  };
  for (std::size_t p = 0; p < engine::step_part_names.size(); ++p) {
    line(engine::step_part_names[p],
         [p](const part_times& step) { return step.seconds[p]; });
  }
  line("hand-over", [](const part_times& step) {
    return std::max(0.0, step.wall - step.device);
  });
  line("all", [](const part_times& step) { return step.wall; });
}

}  // namespace

void print_text(const options& chosen, const results& found) {
  std::cout << found.model << ", " << found.device << '\n'
            << "Medians (min ... max) of " << chosen.repeat
            << " alternating rounds\n\n"
            << "Limits of this machine\n"
            << "      read " << show(scaled(found.read_limit, 1e-9), 1)
            << "    GB/s\n"
            << " 8-bit dot " << show(scaled(found.dot_limit, 1e-9), 0)
            << "   GOP/s\n";
  if (found.load_seconds) {
    std::cout << "\nLoad of the model\n           "
              << show(*found.load_seconds, 3) << "       s\n";
  }
  for (const auto& each : sections) print_section(each, found);
  print_plans(found);
  print_parts(found);
}

}  // namespace vouch::cli::bench
