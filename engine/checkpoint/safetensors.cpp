#include "engine/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/checkpoint/json_file.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

constexpr std::uint64_t max_header_bytes = 100'000'000;

struct element_type {
  std::string_view name;
  std::uint64_t bits;
};

constexpr std::array<element_type, 23> element_types = {{
    {"BOOL", 8},    {"U8", 8},          {"I8", 8},          {"F8_E5M2", 8},
    {"F8_E4M3", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8},
    {"I16", 16},    {"U16", 16},        {"F16", 16},        {"BF16", 16},
    {"I32", 32},    {"U32", 32},        {"F32", 32},        {"F64", 64},
    {"I64", 64},    {"U64", 64},        {"C64", 64},        {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"F4_E2M1", 4},
}};

std::optional<std::uint64_t> element_bits(std::string_view name) {
  const auto* found =
      std::find_if(element_types.begin(), element_types.end(),
                   [&](const auto& type) { return type.name == name; });
  if (found == element_types.end()) return {};
  return found->bits;
}

[[noreturn]] void fail(const mapped_file& file, const std::string& what) {
  throw input_error{file.path().string(), what};
}

[[noreturn]] void fail_tensor(const mapped_file& file, const std::string& name,
                              const std::string& what) {
  fail(file, "tensor '" + name + "': " + what);
}

std::uint64_t expected_bytes(const mapped_file& file,
                             const safetensors_tensor& tensor) {
  const auto bits = element_bits(tensor.dtype);
  if (!bits) {
    fail_tensor(file, tensor.name,
                "unknown element type '" + tensor.dtype + "'");
  }
  std::uint64_t total = *bits;
  for (const auto dimension : tensor.shape) {
    if (dimension < 0) fail_tensor(file, tensor.name, "a negative dimension");
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(dimension),
                               &total)) {
      fail_tensor(file, tensor.name, "the product of its shape overflows");
    }
  }
  if (total % 8 != 0) {
    fail_tensor(file, tensor.name, "its size is no whole number of bytes");
  }
  return total / 8;
}

safetensors_tensor read_entry(const mapped_file& file, std::string name,
                              const json_object& entry, std::size_t data) {
  safetensors_tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = entry.string("dtype").value_or("");
  if (!entry.is_list("shape")) entry.fail("shape", "is not a list");
  tensor.shape = entry.integers("shape");
  const auto offsets = entry.integers("data_offsets");
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    entry.fail("data_offsets", "is not [begin, end] with begin <= end");
  }
  const auto begin = static_cast<std::size_t>(offsets[0]);
  tensor.bytes = static_cast<std::size_t>(offsets[1]) - begin;
  const auto expected = expected_bytes(file, tensor);
  if (expected != tensor.bytes) {
    fail_tensor(file, tensor.name,
                "data_offsets span " + std::to_string(tensor.bytes) +
                    " bytes, its type and shape take " +
                    std::to_string(expected));
  }
  const auto room = file.bytes().size() - data;
  if (begin > room || tensor.bytes > room - begin) {
    fail_tensor(file, tensor.name,
                "truncated: its data ends at offset " +
                    std::to_string(offsets[1]) + " of the data, which starts " +
                    "at " + std::to_string(data) + "; the file ends at " +
                    std::to_string(file.bytes().size()));
  }
  tensor.file_offset = data + begin;
  tensor.data = file.bytes().data() + tensor.file_offset;
  return tensor;
}

void check_tiling(const mapped_file& file, std::size_t data,
                  const std::vector<safetensors_tensor>& tensors) {
  auto expected = data;
  for (const auto& tensor : tensors) {
    if (tensor.file_offset != expected) {
      fail_tensor(
          file, tensor.name,
          "its data starts at offset " + std::to_string(tensor.file_offset) +
              (tensor.file_offset < expected ? ", inside the tensor before it"
                                             : ", after a hole") +
              " (expected " + std::to_string(expected) + ")");
    }
    expected += tensor.bytes;
  }
  if (expected != file.bytes().size()) {
    fail(file, "offset " + std::to_string(expected) + ": " +
                   std::to_string(file.bytes().size() - expected) +
                   " bytes after the last tensor");
  }
}

}  // namespace

safetensors_file::safetensors_file(const std::filesystem::path& path)
    : file_{path} {
  const auto bytes = file_.bytes();
  if (bytes.size() < 8) {
    fail(file_, "offset 0: truncated: the header length needs 8 bytes");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > max_header_bytes) {
    fail(file_, "offset 0: absurd header length " + std::to_string(length));
  }
  if (length > bytes.size() - 8) {
    fail(file_, "offset 8: truncated: the header takes " +
                    std::to_string(length) + " bytes, " +
                    std::to_string(bytes.size() - 8) + " are left");
  }
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()) + 8,
                              static_cast<std::size_t>(length)};
  if (text.empty() || text.front() != '{') {
    fail(file_, "offset 8: the header does not start with '{'");
  }
  header_bytes_ = 8 + static_cast<std::size_t>(length);
  const auto header =
      json_object::parse(path.string() + ": header at offset 8", text);
  std::set<std::string> names;
  for (const auto& [name, entry] : header.object_members()) {
    if (!names.insert(name).second) {
      fail_tensor(file_, name, "occurs twice in the header");
    }
    if (name == "__metadata__") continue;
    tensors_.push_back(read_entry(file_, name, entry, header_bytes_));
  }
  // Empty tensors sort before the one that starts at the same place.
  std::sort(tensors_.begin(), tensors_.end(), [](const auto& a, const auto& b) {
    return std::pair{a.file_offset, a.bytes} <
           std::pair{b.file_offset, b.bytes};
  });
  check_tiling(file_, header_bytes_, tensors_);
}

}  // namespace vouch::engine
