#include "engine/models/families.hpp"

#include <array>
#include <stdexcept>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/error.hpp"
#include "engine/models/llama.hpp"

namespace vouch::engine {

namespace {

// A Mistral without a sliding window computes what a Llama does.
constexpr std::array<model_family, 2> families = {{
    {"llama", "LlamaForCausalLM", "llama", check_llama, build_llama},
    {"mistral", "MistralForCausalLM", {}, check_llama, build_llama},
}};

const model_family& require_family(const checkpoint& source) {
  const auto* family = find_family(source.config().family);
  if (family == nullptr) {
    throw input_error{source.path().string(),
                      "the family '" + source.config().family +
                          "' is not supported (" + supported_families() + ")"};
  }
  return *family;
}

}  // namespace

const model_family* find_family(std::string_view name) {
  for (const auto& family : families) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

const model_family* find_family_of_gguf(std::string_view architecture) {
  if (architecture.empty()) return nullptr;
  for (const auto& family : families) {
    if (family.gguf_architecture == architecture) return &family;
  }
  return nullptr;
}

std::string supported_families() {
  std::string result = "supported:";
  for (const auto& family : families) {
    result += " ";
    result += family.name;
  }
  return result;
}

void model::embed(std::span<const token_id> /*tokens*/, float* /*out*/,
                  kernels::thread_pool& /*pool*/) const {
  throw std::logic_error{"this model lends no embedding"};
}

void model::apply_head(const float* /*normed*/, std::int64_t /*rows*/,
                       float* /*logits*/, kernels::thread_pool& /*pool*/) {
  throw std::logic_error{"this model lends no head"};
}

std::unique_ptr<model> load_model(const checkpoint& source,
                                  kernels::thread_pool& pool,
                                  const load_progress& progress) {
  return require_family(source).build(source, pool, progress);
}

void check_tensors(const checkpoint& source) {
  require_family(source).check(source);
}

}  // namespace vouch::engine
