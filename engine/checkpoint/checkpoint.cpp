#include "engine/checkpoint/checkpoint.hpp"

#include <array>
#include <fstream>
#include <sstream>
#include <system_error>

#include "engine/checkpoint/containers.hpp"
#include "engine/error.hpp"
#include "engine/regular_file.hpp"

namespace vouch::engine {

namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::ostringstream out;
  out << '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out << (i == 0 ? "" : ", ") << shape[i];
  }
  out << ']';
  return out.str();
}

bool starts_with_gguf_magic(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::array<char, 4> magic{};
  in.read(magic.data(), magic.size());
  return std::string_view{magic.data(), magic.size()} == "GGUF";
}

}  // namespace

const tensor_view& checkpoint::require(
    std::string_view name, const std::vector<std::int64_t>& shape) const {
  const auto* tensor = find(name);
  const std::string label = "tensor '" + std::string{name} + "'";
  if (tensor == nullptr) {
    throw input_error{path().string(), label + " is missing"};
  }
  if (tensor->shape != shape) {
    throw input_error{path().string(), label + " has the shape " +
                                           shape_text(tensor->shape) +
                                           ", expected " + shape_text(shape)};
  }
  return *tensor;
}

std::shared_ptr<checkpoint> open_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw input_error{path.string(), "does not exist"};
  }
  if (std::filesystem::is_directory(status)) {
    return open_safetensors_folder(path);
  }
  const regular_file checked{path};
  if (path.extension() == ".safetensors" && !starts_with_gguf_magic(path)) {
    throw input_error{path.string(),
                      "is one file of a model: name the folder that holds it "
                      "and config.json"};
  }
  return open_gguf_file(path);
}

}  // namespace vouch::engine
