#include "engine/checkpoint/safetensors_weights.hpp"

#include <set>
#include <utility>

#include "engine/checkpoint/content_hash.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

constexpr const char* index_name = "model.safetensors.index.json";

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

}  // namespace

bool weight_files::lists(const safetensors_file& file,
                         const safetensors_tensor& tensor) const {
  if (map.empty()) return true;
  const auto listed = map.find(tensor.name);
  return listed != map.end() && listed->second == file.path().filename();
}

std::string weight_files::fingerprint(
    const std::filesystem::path& folder) const {
  content_hash hash;
  const mapped_file config{folder / "config.json"};
  hash.add_file(config, config.bytes().size());
  for (const auto& file : files) {
    hash.add(file.path().filename().string());
    hash.add_file(file.file(), file.header_bytes());
  }
  return hash.text();
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

}  // namespace vouch::engine
