// Encoding and decoding speed, in bytes of text a second.
//   bench_tokenizer MODEL [TEXT] [benchmark options]
// MODEL is a GGUF file or a folder with tokenizer.json; TEXT a file of prose
// (without it, some English and Czech repeated to a megabyte).
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "engine/tokenizer/tokenizer.hpp"

namespace {

using vouch::engine::encode_options;
using vouch::engine::token_id;
using vouch::engine::tokenizer;

std::string prose() {
  const std::string paragraph =
      "The library stood at the end of a long street, and nobody could say "
      "for certain who had built it. In 1894 its first keeper wrote: "
      "\"I'll count the books once a year.\" He counted 12,408 of them.\n\n"
      "Příliš žluťoučký kůň úpěl ďábelské ódy, ale nikdo ho neslyšel.\n";
  std::string out;
  while (out.size() < 1'000'000) out += paragraph;
  return out;
}

void run_encode(benchmark::State& state, const tokenizer& model,
                const std::string& text) {
  std::size_t tokens = 0;
  for (auto _ : state) tokens = model.encode(text, encode_options{}).size();
  state.SetBytesProcessed(
      static_cast<std::int64_t>(state.iterations() * text.size()));
  state.counters["bytes/token"] =
      static_cast<double>(text.size()) / static_cast<double>(tokens);
}

void run_decode(benchmark::State& state, const tokenizer& model,
                const std::string& text) {
  const auto tokens = model.encode(text, encode_options{});
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.decode(tokens, true).size());
  }
  state.SetBytesProcessed(
      static_cast<std::int64_t>(state.iterations() * text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc < 2) {
    std::cerr << "usage: bench_tokenizer MODEL [TEXT] [benchmark options]\n";
    return 2;
  }
  const auto model = vouch::engine::load_tokenizer(argv[1]);
  std::string text = prose();
  if (argc > 2) {
    std::ifstream in{argv[2], std::ios::binary};
    text.assign(std::istreambuf_iterator<char>{in}, {});
  }
  benchmark::RegisterBenchmark("encode", [&](benchmark::State& state) {
    run_encode(state, *model, text);
  });
  benchmark::RegisterBenchmark("decode", [&](benchmark::State& state) {
    run_decode(state, *model, text);
  });
  benchmark::RunSpecifiedBenchmarks();
}
