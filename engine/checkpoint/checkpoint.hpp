#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/models/model_config.hpp"
#include "engine/types.hpp"
#include "kernels/dtype.hpp"

namespace vouch::engine {

/// A tensor where it lies in the mapped file. `shape` is outermost first, as
/// torch prints it: a weight is {out, in}.
struct tensor_view {
  std::string name;
  kernels::dtype type = kernels::dtype::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The generation defaults a model ships (generation_config.json).
struct generation_defaults {
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
};

/// A model on disk: a GGUF file, or a folder of safetensors with its JSON
/// files. Tensors carry Hugging Face names in both cases
/// ("model.layers.0.self_attn.q_proj.weight") and Hugging Face row order: what
/// a container permuted is permuted back on the way to the kernels.
///
/// Held by shared pointers: a model that reads tensors from the mapping as it
/// runs (embedding rows) keeps the checkpoint it was built from.
class checkpoint : public std::enable_shared_from_this<checkpoint> {
 public:
  virtual ~checkpoint() = default;

  /// Path it was opened from.
  virtual const std::filesystem::path& path() const = 0;
  /// "gguf" or "safetensors".
  virtual std::string_view container() const = 0;
  virtual const model_config& config() const = 0;
  virtual const generation_defaults& defaults() const = 0;
  virtual std::vector<tensor_view> tensors() const = 0;
  /// nullptr when there is no such tensor.
  virtual const tensor_view* find(std::string_view name) const = 0;
  /// Like find; throws input_error naming file and tensor when it is missing
  /// or not of `shape`.
  const tensor_view& require(std::string_view name,
                             const std::vector<std::int64_t>& shape) const;
  /// The rows of a 2-D tensor (the elements of a 1-D one) in Hugging Face
  /// order. Usually tensor.data itself; `storage` is filled when rows had to be
  /// moved.
  virtual const std::byte* ordered_rows(
      const tensor_view& tensor, std::vector<std::byte>& storage) const = 0;
  /// End-of-generation ids that the model's own files name, united:
  /// generation_config, config, tokenizer_config, or GGUF's keys; sorted.
  virtual std::vector<token_id> eos_tokens() const = 0;
  /// The chat template's source; empty when there is none.
  virtual std::string chat_template() const = 0;
  /// A name for /v1/models when the operator gives none.
  virtual std::string default_name() const = 0;
  /// Hash over file sizes, header bytes and samples of the data: identifies
  /// the weights in fingerprints. 16 hex digits.
  virtual std::string fingerprint() const = 0;
};

/// Opens a GGUF file or a safetensors folder. Throws input_error.
std::shared_ptr<checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace vouch::engine
