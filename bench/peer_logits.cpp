// Prints llama.cpp's logits for given tokens; built by logits_distance.py
// against a llama.cpp that stands outside this tree.
//
//   peer_logits MODEL THREADS < input
//
// Input, all numbers: how many texts; for each its prompt's length and tokens,
// the number of steps and of ids, and for each step the ids whose logits are
// wanted, of which the first is also the step's token. One line a step.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <llama.h>
#include <vector>

namespace {

std::vector<llama_token> read_tokens(std::size_t count) {
  std::vector<llama_token> tokens(count);
  for (auto& token : tokens) std::cin >> token;
  return tokens;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  auto* model =
      llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  auto params = llama_context_default_params();
  params.n_ctx = 1024;
  params.n_batch = 1024;
  params.n_threads = std::atoi(argv[2]);
  params.n_threads_batch = params.n_threads;
  auto* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  std::size_t texts = 0;
  std::cin >> texts;
  for (std::size_t t = 0; t < texts; ++t) {
    std::size_t length = 0, steps = 0, ids = 0;
    std::cin >> length;
    auto given = read_tokens(length);
    std::cin >> steps >> ids;
    llama_memory_clear(llama_get_memory(context), true);
    for (std::size_t step = 0; step < steps; ++step) {
      const auto size = static_cast<std::int32_t>(given.size());
      if (llama_decode(context, llama_batch_get_one(given.data(), size)) != 0) {
        return 1;
      }
      const float* logits = llama_get_logits_ith(context, -1);
      const auto wanted = read_tokens(ids);
      for (const auto id : wanted) std::printf("%.7g ", logits[id]);
      const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
      int best = 0;
      for (int i = 1; i < vocabulary; ++i) {
        if (logits[i] > logits[best]) best = i;
      }
      std::printf("%d\n", best);
      given = {wanted.front()};
    }
  }
}
