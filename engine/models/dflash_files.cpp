#include "engine/models/dflash_files.hpp"

#include <array>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "engine/checkpoint/gguf.hpp"
#include "engine/checkpoint/safetensors_weights.hpp"
#include "engine/checkpoint/tensor_index.hpp"
#include "engine/error.hpp"
#include "engine/models/dflash_names.hpp"

namespace vouch::engine {

namespace {

/// A drafter's own vocabulary: `table` holds offsets or ids.
std::vector<token_id> read_draft_map(const std::string& file,
                                     const std::byte* table, std::size_t bytes,
                                     std::int64_t count, bool offsets) {
  std::vector<token_id> result(static_cast<std::size_t>(count));
  const auto width = bytes / result.size();
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::int64_t value = 0;
    if (width == sizeof(std::int32_t)) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, table + i * width, width);
      value = narrow;
    } else {
      std::memcpy(&value, table + i * width, sizeof value);
    }
    if (offsets) value += static_cast<std::int64_t>(i);
    if (value < 0 || value > (std::int64_t{1} << 24)) {
      throw input_error{file, "tensor 'd2t' maps id " + std::to_string(i) +
                                  " to " + std::to_string(value)};
    }
    result[i] = static_cast<token_id>(value);
  }
  return result;
}

/// What both containers share.
class opened_files : public dflash_files {
 public:
  const std::filesystem::path& path() const override { return path_; }
  const model_config& config() const override { return config_.shape; }
  const generation_defaults& defaults() const override { return defaults_; }
  std::vector<tensor_view> tensors() const override { return tensors_.all(); }
  const tensor_view* find(std::string_view name) const override {
    return tensors_.find(name);
  }
  std::vector<token_id> eos_tokens() const override { return {}; }
  std::string chat_template() const override { return {}; }
  std::string default_name() const override {
    return std::filesystem::weakly_canonical(path_).stem().string();
  }
  const dflash_config& drafter() const override { return config_; }
  const std::vector<token_id>& draft_to_target() const override {
    return draft_to_target_;
  }

  const std::byte* ordered_rows(const tensor_view& tensor,
                                std::vector<std::byte>& storage) const override;

 protected:
  explicit opened_files(std::filesystem::path path) : path_{std::move(path)} {}

  /// Once the tensors are listed: a smaller vocabulary needs its map.
  void check_map() {
    auto& size = config_.draft_vocab_size;
    if (size == 0 || !draft_to_target_.empty()) return;
    if (size != config_.shape.vocab_size) {
      throw input_error{path_.string(),
                        "tensor 'd2t' is missing, and draft_vocab_size is " +
                            std::to_string(size)};
    }
    size = 0;
  }

  /// The map must be as long as the configuration says.
  void set_map(const std::byte* table, std::size_t bytes,
               const std::vector<std::int64_t>& shape, bool offsets) {
    if (config_.draft_vocab_size == 0 ||
        shape != std::vector<std::int64_t>{config_.draft_vocab_size}) {
      throw input_error{path_.string(),
                        "tensor 'd2t' is no list of draft_vocab_size (" +
                            std::to_string(config_.draft_vocab_size) +
                            ") entries"};
    }
    draft_to_target_ =
        read_draft_map(path_.string(), table, bytes, shape[0], offsets);
  }

  std::filesystem::path path_;
  dflash_config config_;
  tensor_index tensors_;

 private:
  generation_defaults defaults_;
  std::vector<token_id> draft_to_target_;
};

/// With interleaved rotary embedding, row s * D/2 + j of a head (j < D/2, s in
/// {0, 1}) lies at 2j + s. A norm's elements are rows of one head.
const std::byte* opened_files::ordered_rows(
    const tensor_view& tensor, std::vector<std::byte>& storage) const {
  const auto is = [&](std::string_view part) {
    return tensor.name.find(part) != std::string::npos;
  };
  const bool rotated = is(".self_attn.q_") || is(".self_attn.k_");
  if (!config_.interleaved_rope || !rotated) return tensor.data;
  const auto rows = static_cast<std::size_t>(tensor.shape.front());
  const auto row_bytes = tensor.bytes / rows;
  const auto dimension = static_cast<std::size_t>(config_.shape.head_dim);
  storage.resize(tensor.bytes);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto s = row % dimension / (dimension / 2);
    const auto j = row % (dimension / 2);
    const auto from = row - row % dimension + 2 * j + s;
    std::memcpy(storage.data() + row * row_bytes,
                tensor.data + from * row_bytes, row_bytes);
  }
  return storage.data();
}

class folder_files final : public opened_files {
 public:
  folder_files(const std::filesystem::path& folder, const json_object& config)
      : opened_files{folder} {
    config_ = read_dflash_config(config);
    weights_ = open_weights(folder);
    std::vector<tensor_view> tensors;
    for (const auto& file : weights_.files) {
      for (const auto& tensor : file.tensors()) {
        if (weights_.lists(file, tensor)) add(file, tensor, tensors);
      }
    }
    tensors_ = tensor_index{std::move(tensors)};
    check_map();
  }

  std::string_view container() const override { return "safetensors"; }
  std::string fingerprint() const override {
    return weights_.fingerprint(path_);
  }

 private:
  void add(const safetensors_file& file, const safetensors_tensor& tensor,
           std::vector<tensor_view>& tensors) {
    const auto name = dflash_name(tensor.name);
    if (name.empty()) return;
    if (name == "d2t" && (tensor.dtype == "I64" || tensor.dtype == "I32")) {
      set_map(tensor.data, tensor.bytes, tensor.shape, true);
      return;
    }
    const auto type = kernel_type(tensor.dtype);
    if (!type) {
      throw input_error{file.path().string(),
                        "tensor '" + tensor.name + "' has the type " +
                            tensor.dtype +
                            ", which is not supported (F32, F16 and BF16 are)"};
    }
    tensors.push_back({name, *type, tensor.shape, tensor.data, tensor.bytes});
  }

  weight_files weights_;
};

class gguf_files final : public opened_files {
 public:
  gguf_files(const std::filesystem::path& path, gguf_file file)
      : opened_files{path}, file_{std::move(file)} {
    config_ = read_dflash_config(file_);
    std::vector<tensor_view> tensors;
    for (const auto& tensor : file_.tensors()) add(tensor, tensors);
    tensors_ = tensor_index{std::move(tensors)};
    check_map();
  }

  std::string_view container() const override { return "gguf"; }
  std::string fingerprint() const override { return file_.fingerprint(); }

 private:
  void add(const gguf_tensor& tensor, std::vector<tensor_view>& tensors) {
    const auto name = dflash_name_of_gguf(tensor.name);
    if (name.empty()) return;
    const std::vector<std::int64_t> shape{tensor.dimensions.rbegin(),
                                          tensor.dimensions.rend()};
    if (name == "d2t" && tensor.type->name == "I64") {
      set_map(tensor.data, tensor.bytes, shape, false);
      return;
    }
    if (!tensor.type->kernel_type) {
      throw input_error{path_.string(), "tensor '" + std::string{tensor.name} +
                                            "' has the type " +
                                            std::string{tensor.type->name} +
                                            ", which is not supported"};
    }
    tensors.push_back(
        {name, *tensor.type->kernel_type, shape, tensor.data, tensor.bytes});
  }

  gguf_file file_;
};

}  // namespace

std::shared_ptr<const dflash_files> open_dflash(
    const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw input_error{path.string(), "does not exist"};
  }
  if (std::filesystem::is_directory(path, error)) {
    const auto config = json_object::load(path / "config.json");
    if (!is_dflash(config)) return nullptr;
    return std::make_shared<folder_files>(path, config);
  }
  auto file = gguf_file::open(path);
  if (!is_dflash(file)) return nullptr;
  return std::make_shared<gguf_files>(path, std::move(file));
}

}  // namespace vouch::engine
