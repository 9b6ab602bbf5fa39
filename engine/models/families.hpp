#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/models/model.hpp"

namespace vouch::engine {

/// A family of models: how its files name it and what builds it. A new family
/// is a new source file and a line in families.cpp.
struct model_family {
  /// config.json's `model_type`, and model_config::family.
  std::string_view name;
  /// What config.json's `architectures` names.
  std::string_view architecture;
  /// GGUF's `general.architecture`; empty: such files go by another family's.
  std::string_view gguf_architecture;
  /// Throws what build would throw for tensors that are missing or misshapen.
  void (*check)(const checkpoint& source);
  std::unique_ptr<model> (*build)(const checkpoint& source,
                                  kernels::thread_pool& pool,
                                  const load_progress& progress);
};

/// nullptr when the family is not supported.
const model_family* find_family(std::string_view name);
const model_family* find_family_of_gguf(std::string_view architecture);

/// "supported: llama mistral", for error messages.
std::string supported_families();

}  // namespace vouch::engine
