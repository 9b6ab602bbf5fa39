// Writes llama.cpp's logits of given tokens; built by logits_distance.py
// against a llama.cpp that stands outside this tree.
//
//   peer_logits MODEL THREADS KV FLASH ROWS < texts > logits
//
// KV is f16 or f32; FLASH (flash attention) auto, on or off; ROWS how many
// tokens a decode takes at most. `texts` and `logits` are vouch_logits'.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <llama.h>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int context_tokens = 2048;

/// What the command line names.
struct choices {
  ggml_type kv;
  llama_flash_attn_type flash;
};

bool choose(const std::string& kv, const std::string& flash, choices& into) {
  if (kv != "f16" && kv != "f32") return false;
  into.kv = kv == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32;
  if (flash == "auto") {
    into.flash = LLAMA_FLASH_ATTN_TYPE_AUTO;
  } else if (flash == "on") {
    into.flash = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  } else if (flash == "off") {
    into.flash = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  } else {
    return false;
  }
  return true;
}

/// Errors only.
void log(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

bool run_text(llama_context* context, std::vector<llama_token>& tokens,
              int rows, std::size_t vocabulary) {
  const int length = static_cast<int>(tokens.size());
  auto batch = llama_batch_init(rows, 0, 1);
  llama_memory_clear(llama_get_memory(context), true);
  bool good = true;
  for (int at = 0; good && at < length; at += rows) {
    batch.n_tokens = std::min(rows, length - at);
    for (int i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = tokens[at + i];
      batch.pos[i] = at + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    good = llama_decode(context, batch) == 0;
    for (int i = 0; good && i < batch.n_tokens; ++i) {
      good = std::fwrite(llama_get_logits_ith(context, i), sizeof(float),
                         vocabulary, stdout) == vocabulary;
    }
  }
  llama_batch_free(batch);
  return good && std::fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  choices chosen{};
  if (argc != 6 || !choose(argv[3], argv[4], chosen)) {
    std::fputs("peer_logits MODEL THREADS f16|f32 auto|on|off ROWS\n", stderr);
    return 2;
  }
  llama_log_set(log, nullptr);
  llama_backend_init();
  auto* model =
      llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  const int rows = std::atoi(argv[5]);
  auto params = llama_context_default_params();
  params.n_ctx = context_tokens;
  params.n_batch = static_cast<std::uint32_t>(rows);
  params.n_ubatch = params.n_batch;
  params.n_threads = std::atoi(argv[2]);
  params.n_threads_batch = params.n_threads;
  params.type_k = chosen.kv;
  params.type_v = chosen.kv;
  params.flash_attn_type = chosen.flash;
  auto* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  const std::int32_t vocabulary =
      llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::fwrite(&vocabulary, sizeof vocabulary, 1, stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words{line};
    std::vector<llama_token> tokens;
    for (llama_token token = 0; words >> token;) tokens.push_back(token);
    if (tokens.size() > context_tokens ||
        !run_text(context, tokens, rows,
                  static_cast<std::size_t>(vocabulary))) {
      return 1;
    }
  }
}
