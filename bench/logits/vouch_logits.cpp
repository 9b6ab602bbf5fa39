// Writes the logits of given tokens, as the executor that serves makes them:
//
//   vouch_logits MODEL [options] < texts > logits
//
// A line of `texts` is one text, the ids of its tokens; each starts an empty
// context. `logits` is the vocabulary's size as an int32 and then, for every
// token in turn, the float32 logits of what follows it.

#include <algorithm>
#include <cstdio>
#include <future>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/executor/executor.hpp"
#include "kernels/kv_layout.hpp"
#include "kernels/thread_pool.hpp"

namespace {

using namespace vouch;

struct options {
  std::string model;
  std::string kv_type = "f16";
  int threads = 0;
  std::int32_t rows = 128;
  std::int32_t context = 2048;
};

/// Throws where less is written: it would shift every row after it.
void write(const void* data, std::size_t bytes) {
  if (std::fwrite(data, 1, bytes, stdout) != bytes) {
    throw std::runtime_error{"cannot write to standard output"};
  }
}

std::vector<engine::token_id> read_tokens(const std::string& line) {
  std::istringstream words{line};
  std::vector<engine::token_id> tokens;
  for (engine::token_id token = 0; words >> token;) {
    tokens.push_back(token);
  }
  if (!words.eof()) {
    throw std::runtime_error{"no token ids: " + line.substr(0, 60)};
  }
  return tokens;
}

std::unique_ptr<engine::executor> make_device(const options& chosen) {
  const auto source = engine::open_checkpoint(chosen.model);
  engine::cpu_executor_options settings;
  settings.threads = chosen.threads;
  settings.kv_type =
      chosen.kv_type == "f32" ? kernels::dtype::f32 : kernels::dtype::f16;
  settings.slots = 1;
  settings.step_rows = chosen.rows;
  settings.blocks = (chosen.context + kernels::kv_block_tokens - 1) /
                    kernels::kv_block_tokens;
  kernels::thread_pool pool{1};
  return engine::make_cpu_executor(engine::load_model(*source, pool), settings);
}

void run_step(engine::executor& device, engine::step work) {
  std::promise<engine::step_result> promise;
  device.submit(std::move(work), [&promise](engine::step_result done) {
    promise.set_value(std::move(done));
  });
  const auto done = promise.get_future().get();
  if (!done.error.empty()) throw std::runtime_error{done.error};
  for (const auto& item : done.items) {
    if (!item.error.empty()) throw std::runtime_error{item.error};
  }
}

/// One text in steps of `rows`, each row with logits, as a verify step has.
void run_text(engine::executor& device,
              const std::vector<engine::token_id>& tokens, std::int32_t rows) {
  const auto length = static_cast<std::int32_t>(tokens.size());
  engine::slot_start start;
  start.slot = 0;
  start.prompt_tokens = length;
  device.open(start);
  for (std::int32_t at = 0; at < length; at += rows) {
    engine::step_item item;
    item.slot = 0;
    item.position = at;
    item.tokens.assign(tokens.begin() + at,
                       tokens.begin() + std::min(length, at + rows));
    item.blocks.resize(
        static_cast<std::size_t>(length - 1) / kernels::kv_block_tokens + 1);
    std::iota(item.blocks.begin(), item.blocks.end(), 0);
    engine::step work;
    work.items.push_back(std::move(item));
    run_step(device, std::move(work));
  }
  device.release(0);
}

int run(const options& chosen) {
  const auto device = make_device(chosen);
  const auto size = static_cast<std::int32_t>(
      engine::open_checkpoint(chosen.model)->config().vocab_size);
  write(&size, sizeof size);
  device->observe_logits(
      [](engine::slot_id, std::int32_t, const float* logits, std::int64_t n) {
        write(logits, static_cast<std::size_t>(n) * sizeof(float));
      });
  for (std::string line; std::getline(std::cin, line);) {
    const auto tokens = read_tokens(line);
    if (tokens.size() > static_cast<std::size_t>(chosen.context)) {
      throw std::runtime_error{std::to_string(tokens.size()) +
                               " tokens in a text; --context allows at most " +
                               std::to_string(chosen.context)};
    }
    run_text(*device, tokens, chosen.rows);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Writes the logits of the token ids on standard input."};
  options chosen;
  app.add_option("model", chosen.model, "GGUF file or folder of safetensors")
      ->required();
  app.add_option("--threads", chosen.threads, "Compute threads; 0: one a core")
      ->check(CLI::Range(0, 1024));
  app.add_option("--kv-type", chosen.kv_type, "f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  app.add_option("--rows", chosen.rows, "Tokens that a step takes at most")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  app.add_option("--context", chosen.context, "Tokens of the longest text")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return run(chosen);
  } catch (const std::exception& error) {
    std::cerr << "vouch_logits: " << error.what() << '\n';
    return 2;
  }
}
