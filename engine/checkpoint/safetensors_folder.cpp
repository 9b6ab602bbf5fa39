#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/checkpoint/config_json.hpp"
#include "engine/checkpoint/containers.hpp"
#include "engine/checkpoint/content_hash.hpp"
#include "engine/checkpoint/folder_text.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/checkpoint/safetensors.hpp"
#include "engine/checkpoint/tensor_index.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

constexpr const char* index_name = "model.safetensors.index.json";

/// The files that hold the weights, and which of a file's tensors count.
struct weight_files {
  std::vector<safetensors_file> files;
  /// Tensor -> file name; empty when there is no index.
  std::map<std::string, std::string> map;
};

weight_files open_sharded(const std::filesystem::path& folder) {
  const auto index = json_object::load(folder / index_name);
  const auto map = index.object("weight_map");
  if (!map) index.fail("weight_map", "is missing");
  weight_files result;
  std::set<std::string> names;
  for (auto& [tensor, file] : map->string_members()) {
    if (file != std::filesystem::path{file}.filename().string()) {
      map->fail(tensor, "names '" + file + "', which is no plain file name");
    }
    names.insert(file);
    if (!result.map.emplace(tensor, file).second) {
      map->fail(tensor, "occurs twice");
    }
  }
  for (const auto& name : names) result.files.emplace_back(folder / name);
  std::set<std::pair<std::string, std::string>> present;
  for (const auto& file : result.files) {
    const auto name = file.path().filename().string();
    for (const auto& tensor : file.tensors()) {
      present.emplace(tensor.name, name);
    }
  }
  for (const auto& entry : result.map) {
    if (!present.contains(entry)) {
      map->fail(entry.first, "names '" + entry.second +
                                 "', which does not hold that tensor");
    }
  }
  return result;
}

weight_files open_weights(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / index_name)) {
    return open_sharded(folder);
  }
  const auto single = folder / "model.safetensors";
  if (!std::filesystem::exists(single)) {
    throw input_error{
        folder.string(),
        std::string{"holds neither model.safetensors nor "} + index_name};
  }
  weight_files result;
  result.files.emplace_back(single);
  return result;
}

std::optional<kernels::dtype> kernel_type(const std::string& name) {
  if (name == "F32") return kernels::dtype::f32;
  if (name == "F16") return kernels::dtype::f16;
  if (name == "BF16") return kernels::dtype::bf16;
  return {};
}

std::vector<tensor_view> list_tensors(const weight_files& weights) {
  std::vector<tensor_view> result;
  for (const auto& file : weights.files) {
    const auto name = file.path().filename().string();
    for (const auto& tensor : file.tensors()) {
      const auto listed = weights.map.find(tensor.name);
      if (!weights.map.empty() &&
          (listed == weights.map.end() || listed->second != name)) {
        continue;
      }
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
    content_hash hash;
    const mapped_file config{folder_ / "config.json"};
    hash.add_file(config, config.bytes().size());
    for (const auto& file : weights_.files) {
      hash.add(file.path().filename().string());
      hash.add_file(file.file(), file.header_bytes());
    }
    return hash.text();
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
