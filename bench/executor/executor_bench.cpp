// Times prefill and decode of a model through the executor, without actors and
// HTTP, and prints one JSON object.
//
//   bench_executor MODEL [--threads N] [--tokens N] [--prompt N] [--batch N]

#include <chrono>
#include <cstdio>
#include <future>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/executor/executor.hpp"
#include "kernels/dispatch.hpp"

namespace {

using namespace vouch::engine;
using clock_type = std::chrono::steady_clock;

struct options {
  std::string model;
  int threads = 0;
  int tokens = 128;
  int prompt = 128;
  int batch = 1;
  bool parts = false;
  std::vector<int> widths;
};

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Sequences of equal length that advance together.
class lockstep {
 public:
  lockstep(executor& device, const options& chosen)
      : device_(device), chosen_(chosen) {
    const int length = chosen.prompt + chosen.tokens + 1;
    const int blocks = (length + 15) / 16;
    for (int s = 0; s < chosen.batch; ++s) {
      std::vector<block_id> table;
      for (int b = 0; b < blocks; ++b) {
        table.push_back(s * blocks + b);
      }
      tables_.push_back(std::move(table));
      slot_start start;
      start.slot = s;
      start.sampling.temperature = 0.0F;
      start.prompt_tokens = chosen.prompt;
      device.open(start);
    }
    last_.assign(static_cast<std::size_t>(chosen.batch), 0);
  }

  /// Runs every sequence's prompt, in chunks that fit a step; seconds.
  double prefill() {
    const auto begin = clock_type::now();
    const int chunk = static_cast<int>(
        std::min<std::int64_t>(512, device_.limits().step_rows));
    for (int s = 0; s < chosen_.batch; ++s) {
      for (int at = 0; at < chosen_.prompt; at += chunk) {
        const int rows = std::min(chunk, chosen_.prompt - at);
        step_item item = item_of(s, at);
        for (int i = 0; i < rows; ++i) {
          item.tokens.push_back((s * 31 + (at + i) * 7) % 1000 + 10);
        }
        const bool last = at + rows == chosen_.prompt;
        item.logits_begin = item.pick_begin = last ? rows - 1 : rows;
        run({std::move(item)});
      }
    }
    return seconds_since(begin);
  }

  /// One row a sequence, `steps` times; seconds.
  double decode(int steps) {
    const auto begin = clock_type::now();
    for (int i = 0; i < steps; ++i) {
      std::vector<step_item> items;
      for (int s = 0; s < chosen_.batch; ++s) {
        step_item item = item_of(s, chosen_.prompt + i);
        item.kind = row_kind::decode;
        item.tokens = {last_[static_cast<std::size_t>(s)]};
        items.push_back(std::move(item));
      }
      run(std::move(items));
    }
    return seconds_since(begin);
  }

  /// One sequence, `width` rows with logits and picks, `steps` times.
  double verify(int width, int steps) {
    const auto begin = clock_type::now();
    for (int i = 0; i < steps; ++i) {
      step_item item = item_of(0, chosen_.prompt);
      item.kind = row_kind::verify;
      for (int w = 0; w < width; ++w) item.tokens.push_back(100 + w);
      run({std::move(item)});
    }
    return seconds_since(begin);
  }

  step_profile parts;

 private:
  step_item item_of(int sequence, int position) const {
    step_item item;
    item.slot = sequence;
    item.position = position;
    item.blocks = tables_[static_cast<std::size_t>(sequence)];
    return item;
  }

  void run(std::vector<step_item> items) {
    std::promise<step_result> promise;
    step work;
    work.id = ++steps_;
    work.items = std::move(items);
    device_.submit(std::move(work), [&promise](step_result result) {
      promise.set_value(std::move(result));
    });
    const auto result = promise.get_future().get();
    if (!result.error.empty()) {
      throw std::runtime_error(result.error);
    }
    for (const auto& item : result.items) {
      if (!item.picks.empty()) {
        last_[static_cast<std::size_t>(item.slot)] = item.picks.back().token;
      }
    }
    for (std::size_t i = 0; i < parts.seconds.size(); ++i) {
      parts.seconds[i] += result.profile.seconds[i];
    }
  }

  executor& device_;
  const options& chosen_;
  std::vector<std::vector<block_id>> tables_;
  std::vector<token_id> last_;
  step_id steps_ = 0;
};

int run(const options& chosen) {
  vouch::kernels::thread_pool pool{std::max(1, chosen.threads)};
  const auto source = open_checkpoint(chosen.model);
  const auto begin = clock_type::now();
  std::shared_ptr<model> weights = load_model(*source, pool);
  const double load = seconds_since(begin);
  cpu_executor_options settings;
  settings.threads = chosen.threads;
  settings.slots = chosen.batch;
  settings.profile = chosen.parts;
  settings.blocks =
      chosen.batch * ((chosen.prompt + chosen.tokens + 1 + 15) / 16);
  const auto device = make_cpu_executor(weights, settings);
  lockstep sequences{*device, chosen};
  sequences.prefill();  // touches the KV pool and the scratch
  sequences.parts = {};
  const double prefill = sequences.prefill();
  const auto print_parts = [&](const char* what, double steps) {
    if (!chosen.parts) return;
    std::fprintf(stderr, "%s:", what);
    for (std::size_t i = 0; i < step_part_names.size(); ++i) {
      std::fprintf(stderr, " %s %.0f", step_part_names[i].data(),
                   1e6 * sequences.parts.seconds[i] / steps);
    }
    std::fprintf(stderr, " us\n");
    sequences.parts = {};
  };
  print_parts("prefill", 1);
  const double decode = sequences.decode(chosen.tokens);
  print_parts("decode", chosen.tokens);
  for (const int width : chosen.widths) {
    sequences.verify(width, 3);
    sequences.parts = {};
    const double t = sequences.verify(width, 64) / 64;
    std::fprintf(stderr, "width %d: %.3f ms\n", width, 1e3 * t);
    print_parts("  ", 64);
  }
  std::printf(
      "{\"device\": \"%s\", \"batch\": %d, \"load_s\": %.3f, "
      "\"prefill_tok_s\": %.1f, \"decode_tok_s\": %.1f, "
      "\"decode_step_ms\": %.3f}\n",
      device->description().c_str(), chosen.batch, load,
      chosen.batch * chosen.prompt / prefill,
      chosen.batch * chosen.tokens / decode, 1000.0 * decode / chosen.tokens);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Times prefill and decode through the executor."};
  options chosen;
  app.add_option("model", chosen.model, "GGUF file or folder")->required();
  app.add_option("--threads", chosen.threads, "Compute threads; 0: one a core");
  app.add_option("--tokens", chosen.tokens, "Tokens decoded per sequence")
      ->check(CLI::PositiveNumber);
  app.add_option("--prompt", chosen.prompt, "Prompt tokens per sequence")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", chosen.batch, "Sequences")
      ->check(CLI::PositiveNumber);
  app.add_flag("--parts", chosen.parts, "Print the time of each part");
  app.add_option("--widths", chosen.widths, "Verify steps of these widths")
      ->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  try {
    return run(chosen);
  } catch (const std::exception& error) {
    std::cerr << "bench_executor: " << error.what() << '\n';
    return 2;
  }
}
