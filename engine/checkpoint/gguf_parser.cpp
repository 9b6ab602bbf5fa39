#include "engine/checkpoint/gguf_parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include "engine/error.hpp"

namespace vouch::engine {

static_assert(std::endian::native == std::endian::little,
              "the readers take the files' little-endian numbers as they are");

namespace {

using kernels::dtype;

constexpr std::array<gguf_tensor_type, 33> tensor_types = {{
    {0, "F32", 1, 4, dtype::f32},
    {1, "F16", 1, 2, dtype::f16},
    {2, "Q4_0", 32, 18, dtype::q4_0},
    {3, "Q4_1", 32, 20, dtype::q4_1},
    {6, "Q5_0", 32, 22, dtype::q5_0},
    {7, "Q5_1", 32, 24, dtype::q5_1},
    {8, "Q8_0", 32, 34, dtype::q8_0},
    {9, "Q8_1", 32, 36, {}},
    {10, "Q2_K", 256, 84, {}},
    {11, "Q3_K", 256, 110, {}},
    {12, "Q4_K", 256, 144, dtype::q4_k},
    {13, "Q5_K", 256, 176, dtype::q5_k},
    {14, "Q6_K", 256, 210, dtype::q6_k},
    {15, "Q8_K", 256, 292, {}},
    {16, "IQ2_XXS", 256, 66, {}},
    {17, "IQ2_XS", 256, 74, {}},
    {18, "IQ3_XXS", 256, 98, {}},
    {19, "IQ1_S", 256, 50, {}},
    {20, "IQ4_NL", 32, 18, {}},
    {21, "IQ3_S", 256, 110, {}},
    {22, "IQ2_S", 256, 82, {}},
    {23, "IQ4_XS", 256, 136, {}},
    {24, "I8", 1, 1, {}},
    {25, "I16", 1, 2, {}},
    {26, "I32", 1, 4, {}},
    {27, "I64", 1, 8, {}},
    {28, "F64", 1, 8, {}},
    {29, "IQ1_M", 256, 56, {}},
    {30, "BF16", 1, 2, dtype::bf16},
    {34, "TQ1_0", 256, 54, {}},
    {35, "TQ2_0", 256, 66, {}},
    {39, "MXFP4", 32, 17, {}},
    {40, "NVFP4", 64, 36, {}},
}};

constexpr std::uint64_t max_key_bytes = 65535;
constexpr std::uint64_t max_tensor_name_bytes = 63;

/// Reads numbers and strings off the mapping and knows the offset it is at.
class cursor {
 public:
  explicit cursor(const mapped_file& file)
      : file_{file}, bytes_{file.bytes()} {}

  std::size_t offset() const { return offset_; }
  std::size_t left() const { return bytes_.size() - offset_; }
  const std::byte* here() const { return bytes_.data() + offset_; }

  [[noreturn]] void fail(std::size_t offset, const std::string& what) const {
    throw input_error{file_.path().string(),
                      "offset " + std::to_string(offset) + ": " + what};
  }

  void skip(std::uint64_t count, const std::string& what) {
    if (count > left()) {
      fail(offset_, "truncated: " + what + " needs " + std::to_string(count) +
                        " bytes, " + std::to_string(left()) + " are left");
    }
    offset_ += static_cast<std::size_t>(count);
  }

  template <class T>
  T read(const std::string& what) {
    T value;
    const auto* from = here();
    skip(sizeof(T), what);
    std::memcpy(&value, from, sizeof(T));
    return value;
  }

  std::string_view read_string(std::uint64_t limit, const std::string& what) {
    const auto start = offset_;
    const auto length = read<std::uint64_t>("the length of " + what);
    if (length > limit) {
      fail(start, what + " is " + std::to_string(length) +
                      " bytes long, at most " + std::to_string(limit) +
                      " are allowed");
    }
    const auto* from = here();
    skip(length, what);
    return {reinterpret_cast<const char*>(from),
            static_cast<std::size_t>(length)};
  }

 private:
  const mapped_file& file_;
  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

struct header {
  std::uint64_t tensors;
  std::uint64_t pairs;
};

header read_header(cursor& in) {
  const auto magic = in.read<std::array<char, 4>>("the magic");
  if (std::string_view{magic.data(), 4} != "GGUF") {
    in.fail(0, "not a GGUF file: the magic bytes are wrong");
  }
  const auto version = in.read<std::uint32_t>("the version");
  if (version != 0 && (version & 0xFFFFU) == 0) {
    in.fail(4, "big-endian file; only little-endian GGUF is supported");
  }
  if (version != 2 && version != 3) {
    in.fail(4, "version " + std::to_string(version) +
                   " is not supported (2 and 3 are)");
  }
  header result{};
  result.tensors = in.read<std::uint64_t>("the tensor count");
  result.pairs = in.read<std::uint64_t>("the metadata count");
  // The smallest tensor entry takes 33 bytes, the smallest pair 14.
  if (result.tensors > in.left() / 33) {
    in.fail(8, "absurd tensor count " + std::to_string(result.tensors) +
                   " in a file of this size");
  }
  if (result.pairs > in.left() / 14) {
    in.fail(16, "absurd metadata count " + std::to_string(result.pairs) +
                    " in a file of this size");
  }
  return result;
}

gguf_type read_type(cursor& in, const std::string& what) {
  const auto at = in.offset();
  const auto id = in.read<std::uint32_t>("the type of " + what);
  if (id > static_cast<std::uint32_t>(gguf_type::f64)) {
    in.fail(at, what + " has the unknown value type " + std::to_string(id));
  }
  return static_cast<gguf_type>(id);
}

void skip_elements(cursor& in, gguf_type type, std::uint64_t count,
                   const std::string& what) {
  if (type == gguf_type::string) {
    if (count > in.left() / 8) {
      in.fail(in.offset(),
              "absurd element count " + std::to_string(count) + " of " + what);
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      in.read_string(std::numeric_limits<std::uint64_t>::max(), what);
    }
    return;
  }
  const auto size = gguf_scalar_bytes(type);
  if (count > in.left() / size) {
    in.fail(in.offset(), "truncated: " + what + " has " +
                             std::to_string(count) + " elements of " +
                             std::to_string(size) + " bytes, " +
                             std::to_string(in.left()) + " bytes are left");
  }
  const auto* from = in.here();
  if (type == gguf_type::boolean) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (from[i] > std::byte{1}) {
        in.fail(in.offset() + i, what +
                                     " holds a boolean that is neither 0 "
                                     "nor 1");
      }
    }
  }
  in.skip(count * size, what);
}

gguf_value read_value(cursor& in, const std::string& what) {
  gguf_value value;
  value.type = read_type(in, what);
  if (value.type == gguf_type::array) {
    value.is_array = true;
    value.type = read_type(in, "the elements of " + what);
    if (value.type == gguf_type::array) {
      in.fail(in.offset() - 4, what +
                                   " is an array of arrays, which is not "
                                   "supported");
    }
    value.count = in.read<std::uint64_t>("the element count of " + what);
  }
  value.data = in.here();
  skip_elements(in, value.type, value.count, what);
  return value;
}

/// The product of `dimensions` in bytes; fails on zero, overflow and on a row
/// that is no whole number of blocks.
std::size_t tensor_bytes(const cursor& in, std::size_t at,
                         const gguf_tensor& tensor) {
  const std::string name = "tensor '" + std::string{tensor.name} + "'";
  std::uint64_t elements = 1;
  for (const auto dimension : tensor.dimensions) {
    if (dimension <= 0) {
      in.fail(at, name + " has the dimension " + std::to_string(dimension));
    }
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(dimension),
                               &elements) ||
        elements > static_cast<std::uint64_t>(
                       std::numeric_limits<std::int64_t>::max())) {
      in.fail(at, name + ": the product of its dimensions overflows");
    }
  }
  const auto& type = *tensor.type;
  if (tensor.dimensions.front() % type.block_elements != 0) {
    in.fail(at,
            name + ": a row of " + std::to_string(tensor.dimensions.front()) +
                " elements is no whole number of " + std::string{type.name} +
                " blocks of " + std::to_string(type.block_elements));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / type.block_elements,
                             std::uint64_t{type.block_bytes}, &bytes)) {
    in.fail(at, name + ": its size in bytes overflows");
  }
  return bytes;
}

gguf_tensor read_tensor(cursor& in, std::uint64_t index) {
  const auto at = in.offset();
  gguf_tensor tensor;
  tensor.name = in.read_string(max_tensor_name_bytes,
                               "the name of tensor " + std::to_string(index));
  const std::string name = "tensor '" + std::string{tensor.name} + "'";
  if (tensor.name.empty()) in.fail(at, "a tensor without a name");
  const auto dimensions_at = in.offset();
  const auto dimensions = in.read<std::uint32_t>("the rank of " + name);
  if (dimensions < 1 || dimensions > 4) {
    in.fail(dimensions_at, name + " has " + std::to_string(dimensions) +
                               " dimensions (1 to 4 are allowed)");
  }
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    tensor.dimensions.push_back(
        in.read<std::int64_t>("a dimension of " + name));
  }
  const auto type_at = in.offset();
  const auto type = in.read<std::uint32_t>("the type of " + name);
  tensor.type = find_gguf_tensor_type(type);
  if (tensor.type == nullptr) {
    in.fail(type_at,
            name + " has the unknown tensor type " + std::to_string(type));
  }
  tensor.file_offset = in.read<std::uint64_t>("the offset of " + name);
  tensor.bytes = tensor_bytes(in, dimensions_at, tensor);
  return tensor;
}

std::uint64_t read_alignment(
    const cursor& in, const std::map<std::string_view, gguf_value>& metadata) {
  const auto found = metadata.find("general.alignment");
  if (found == metadata.end()) return 32;
  const auto& value = found->second;
  if (value.is_array || value.type != gguf_type::u32) {
    in.fail(0, "key 'general.alignment' is no 32-bit unsigned integer");
  }
  std::uint32_t alignment = 0;
  std::memcpy(&alignment, value.data, sizeof alignment);
  if (!std::has_single_bit(alignment) || alignment > (1U << 30U)) {
    in.fail(0, "key 'general.alignment': " + std::to_string(alignment) +
                   " is no power of two");
  }
  return alignment;
}

/// Turns relative offsets into places in the file.
void place_tensors(const cursor& in, const mapped_file& file,
                   std::uint64_t alignment, std::vector<gguf_tensor>& tensors) {
  const auto size = file.bytes().size();
  const auto data = (in.offset() + alignment - 1) / alignment * alignment;
  std::vector<const gguf_tensor*> order;
  for (auto& tensor : tensors) {
    const std::string name = "tensor '" + std::string{tensor.name} + "'";
    const auto relative = tensor.file_offset;
    if (relative % alignment != 0) {
      in.fail(data, name + ": its offset " + std::to_string(relative) +
                        " is no multiple of the alignment " +
                        std::to_string(alignment));
    }
    if (data > size || relative > size - data ||
        tensor.bytes > size - data - relative) {
      in.fail(size, "truncated: " + name + " takes " +
                        std::to_string(tensor.bytes) + " bytes at offset " +
                        std::to_string(relative) + " of the data, which " +
                        "starts at " + std::to_string(data) +
                        "; the file ends at " + std::to_string(size));
    }
    tensor.file_offset = data + relative;
    tensor.data = file.bytes().data() + tensor.file_offset;
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->file_offset < b->file_offset;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto& before = *order[i - 1];
    if (before.file_offset + before.bytes > order[i]->file_offset) {
      in.fail(order[i]->file_offset, "tensor '" + std::string{order[i]->name} +
                                         "' overlaps tensor '" +
                                         std::string{before.name} + "'");
    }
  }
}

}  // namespace

const gguf_tensor_type* find_gguf_tensor_type(std::uint32_t id) {
  const auto* found =
      std::find_if(tensor_types.begin(), tensor_types.end(),
                   [&](const auto& type) { return type.id == id; });
  const bool known = found != tensor_types.end() && found->block_bytes != 0;
  return known ? found : nullptr;
}

std::size_t gguf_scalar_bytes(gguf_type type) {
  constexpr std::array<std::uint8_t, 13> bytes = {1, 1, 2, 2, 4, 4, 4,
                                                  1, 0, 0, 8, 8, 8};
  return bytes[static_cast<std::size_t>(type)];
}

gguf_contents parse_gguf(const mapped_file& file) {
  cursor in{file};
  const auto counts = read_header(in);
  gguf_contents result;
  for (std::uint64_t i = 0; i < counts.pairs; ++i) {
    const auto at = in.offset();
    const auto key =
        in.read_string(max_key_bytes, "metadata key " + std::to_string(i));
    if (key.empty()) in.fail(at, "an empty metadata key");
    const auto value = read_value(in, "key '" + std::string{key} + "'");
    if (!result.metadata.emplace(key, value).second) {
      in.fail(at, "key '" + std::string{key} + "' occurs twice");
    }
  }
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < counts.tensors; ++i) {
    const auto at = in.offset();
    result.tensors.push_back(read_tensor(in, i));
    const auto name = result.tensors.back().name;
    if (!names.insert(name).second) {
      in.fail(at, "tensor '" + std::string{name} + "' occurs twice");
    }
  }
  const auto alignment = read_alignment(in, result.metadata);
  place_tensors(in, file, alignment, result.tensors);
  return result;
}

}  // namespace vouch::engine
