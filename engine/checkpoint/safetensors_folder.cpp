#include <algorithm>
#include <utility>

#include "engine/checkpoint/config_json.hpp"
#include "engine/checkpoint/containers.hpp"
#include "engine/checkpoint/folder_text.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/checkpoint/safetensors_weights.hpp"
#include "engine/checkpoint/tensor_index.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

std::vector<tensor_view> list_tensors(const weight_files& weights) {
  std::vector<tensor_view> result;
  for (const auto& file : weights.files) {
    for (const auto& tensor : file.tensors()) {
      if (!weights.lists(file, tensor)) continue;
      // Old files store a buffer that the configuration gives anyway.
      if (tensor.name.ends_with(".rotary_emb.inv_freq")) continue;
      const auto type = kernel_type(tensor.dtype);
      if (!type) {
        throw input_error{file.path().string(),
                          "tensor '" + tensor.name + "' has the type " +
                              tensor.dtype +
                              ", which is not supported (F32, "
                              "F16 and BF16 are)"};
      }
      result.push_back(
          {tensor.name, *type, tensor.shape, tensor.data, tensor.bytes});
    }
  }
  return result;
}

class safetensors_folder final : public checkpoint {
 public:
  explicit safetensors_folder(const std::filesystem::path& folder)
      : folder_{folder} {
    const auto config = json_object::load(folder / "config.json");
    config_ = read_config(config);
    weights_ = open_weights(folder);
    tensors_ = tensor_index{list_tensors(weights_)};
    eos_ = read_eos(config, config_);
    const auto generation = folder / "generation_config.json";
    if (std::filesystem::exists(generation)) {
      const auto file = json_object::load(generation);
      const auto more = read_eos(file, config_);
      eos_.insert(eos_.end(), more.begin(), more.end());
      defaults_ = read_defaults(file);
    }
    if (const auto id = read_tokenizer_eos(folder, config_)) {
      eos_.push_back(*id);
    }
    std::sort(eos_.begin(), eos_.end());
    eos_.erase(std::unique(eos_.begin(), eos_.end()), eos_.end());
    chat_template_ = read_chat_template(folder);
  }

  const std::filesystem::path& path() const override { return folder_; }
  std::string_view container() const override { return "safetensors"; }
  const model_config& config() const override { return config_; }
  const generation_defaults& defaults() const override { return defaults_; }
  std::vector<tensor_view> tensors() const override { return tensors_.all(); }
  const tensor_view* find(std::string_view name) const override {
    return tensors_.find(name);
  }
  const std::byte* ordered_rows(
      const tensor_view& tensor,
      std::vector<std::byte>& /*storage*/) const override {
    return tensor.data;
  }
  std::vector<token_id> eos_tokens() const override { return eos_; }
  std::string chat_template() const override { return chat_template_; }

  std::string default_name() const override {
    // "models/name/" and "." name a folder too.
    return std::filesystem::weakly_canonical(folder_).filename().string();
  }

  std::string fingerprint() const override {
    return weights_.fingerprint(folder_);
  }

 private:
  std::filesystem::path folder_;
  model_config config_;
  generation_defaults defaults_;
  weight_files weights_;
  tensor_index tensors_;
  std::vector<token_id> eos_;
  std::string chat_template_;
};

}  // namespace

std::shared_ptr<checkpoint> open_safetensors_folder(
    const std::filesystem::path& path) {
  return std::make_shared<safetensors_folder>(path);
}

}  // namespace vouch::engine
