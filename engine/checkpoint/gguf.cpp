#include "engine/checkpoint/gguf.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/checkpoint/content_hash.hpp"
#include "engine/checkpoint/gguf_parser.hpp"
#include "engine/error.hpp"

namespace vouch::engine {

namespace {

constexpr std::array<std::string_view, 13> type_names = {
    "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
    "bool", "string", "array", "u64", "i64", "f64"};

template <class T>
T load(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

bool is_integer(gguf_type type) {
  return type <= gguf_type::i32 || type == gguf_type::u64 ||
         type == gguf_type::i64;
}

bool is_float(gguf_type type) {
  return type == gguf_type::f32 || type == gguf_type::f64;
}

std::int64_t load_integer(gguf_type type, const std::byte* data) {
  switch (type) {
    case gguf_type::u8:
    case gguf_type::boolean:
      return load<std::uint8_t>(data);
    case gguf_type::i8:
      return load<std::int8_t>(data);
    case gguf_type::u16:
      return load<std::uint16_t>(data);
    case gguf_type::i16:
      return load<std::int16_t>(data);
    case gguf_type::u32:
      return load<std::uint32_t>(data);
    case gguf_type::i32:
      return load<std::int32_t>(data);
    default:
      return load<std::int64_t>(data);
  }
}

double load_number(gguf_type type, const std::byte* data) {
  if (type == gguf_type::f32) return load<float>(data);
  if (type == gguf_type::f64) return load<double>(data);
  return static_cast<double>(load_integer(type, data));
}

std::string_view load_string(const std::byte* data) {
  return {reinterpret_cast<const char*>(data) + 8, load<std::uint64_t>(data)};
}

/// "name-00002-of-00003.gguf": the text before the part's number, and the
/// part and part count.
struct split_name {
  std::string prefix;
  std::size_t part;
  std::size_t count;
};

std::optional<split_name> parse_split_name(const std::string& name) {
  // "-NNNNN-of-MMMMM.gguf" is 20 characters.
  constexpr std::size_t tail = 20;
  if (name.size() <= tail) return {};
  const auto end = std::string_view{name}.substr(name.size() - tail);
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf")
    return {};
  split_name result{name.substr(0, name.size() - tail), 0, 0};
  const auto number = [&](std::size_t at, std::size_t& value) {
    const auto* last = end.data() + at + 5;
    return std::from_chars(end.data() + at, last, value).ptr == last;
  };
  if (!number(1, result.part) || !number(10, result.count)) return {};
  return result;
}

std::string part_name(const split_name& name, std::size_t part) {
  const auto five = [](std::size_t value) {
    auto text = std::to_string(value);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return name.prefix + "-" + five(part) + "-of-" + five(name.count) + ".gguf";
}

std::optional<std::int64_t> integer_of(const gguf_contents& contents,
                                       std::string_view key) {
  const auto found = contents.metadata.find(key);
  if (found == contents.metadata.end() || found->second.is_array ||
      !is_integer(found->second.type)) {
    return {};
  }
  return load_integer(found->second.type, found->second.data);
}

}  // namespace

gguf_file gguf_file::open(const std::filesystem::path& path) {
  gguf_file result;
  result.path_ = path;
  result.parts_.emplace_back(path);
  std::vector<gguf_contents> contents;
  contents.push_back(parse_gguf(result.parts_.front()));

  const auto declared = integer_of(contents.front(), "split.count").value_or(1);
  if (declared > 1) {
    const auto name = parse_split_name(path.filename().string());
    if (!name || static_cast<std::int64_t>(name->count) != declared ||
        name->part < 1 || name->part > name->count) {
      throw input_error{path.string(),
                        "key 'split.count' says that the model has " +
                            std::to_string(declared) +
                            " parts, but the file is not named "
                            "NAME-0000N-of-0000M.gguf accordingly"};
    }
    // Part by part in order, whichever one was named.
    result.parts_.clear();
    contents.clear();
    for (std::size_t part = 1; part <= name->count; ++part) {
      result.parts_.emplace_back(path.parent_path() / part_name(*name, part));
      const auto& file = result.parts_.back();
      contents.push_back(parse_gguf(file));
      const auto number = integer_of(contents.back(), "split.no");
      if (number != static_cast<std::int64_t>(part - 1)) {
        throw input_error{file.path().string(),
                          "key 'split.no' is not " + std::to_string(part - 1)};
      }
    }
  }

  result.metadata_ = std::move(contents.front().metadata);
  for (std::size_t part = 0; part < contents.size(); ++part) {
    for (auto& tensor : contents[part].tensors) {
      tensor.part = part;
      if (!result.tensor_index_.emplace(tensor.name, result.tensors_.size())
               .second) {
        throw input_error{result.parts_[part].path().string(),
                          "tensor '" + std::string{tensor.name} +
                              "' stands in an earlier part too"};
      }
      result.tensors_.push_back(std::move(tensor));
    }
  }
  const auto total = result.integer("split.tensors.count");
  if (declared > 1 && total &&
      *total != static_cast<std::int64_t>(result.tensors_.size())) {
    throw input_error{path.string(),
                      "key 'split.tensors.count' is " + std::to_string(*total) +
                          ", but the parts hold " +
                          std::to_string(result.tensors_.size()) + " tensors"};
  }
  return result;
}

bool gguf_file::has(std::string_view key) const {
  return metadata_.contains(key);
}

void gguf_file::wrong_type(std::string_view key, const gguf_value& value,
                           std::string_view wanted) const {
  const auto type = type_names[static_cast<std::size_t>(value.type)];
  throw input_error{path_.string(),
                    "key '" + std::string{key} + "' is " +
                        (value.is_array ? "an array of " : "a value of type ") +
                        std::string{type} + ", not " + std::string{wanted}};
}

const gguf_value* gguf_file::find(std::string_view key, bool array) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) return nullptr;
  if (found->second.is_array != array) {
    wrong_type(key, found->second, array ? "an array" : "a single value");
  }
  return &found->second;
}

std::optional<std::int64_t> gguf_file::integer(std::string_view key) const {
  const auto* value = find(key, false);
  if (value == nullptr) return {};
  if (!is_integer(value->type)) wrong_type(key, *value, "an integer");
  const auto result = load_integer(value->type, value->data);
  if (value->type == gguf_type::u64 && result < 0) {
    throw input_error{path_.string(),
                      "key '" + std::string{key} + "' does not fit 63 bits"};
  }
  return result;
}

std::optional<double> gguf_file::number(std::string_view key) const {
  const auto* value = find(key, false);
  if (value == nullptr) return {};
  if (!is_float(value->type) && !is_integer(value->type)) {
    wrong_type(key, *value, "a number");
  }
  return load_number(value->type, value->data);
}

std::optional<bool> gguf_file::boolean(std::string_view key) const {
  const auto* value = find(key, false);
  if (value == nullptr) return {};
  if (value->type != gguf_type::boolean) wrong_type(key, *value, "a boolean");
  return *value->data != std::byte{0};
}

std::optional<std::string_view> gguf_file::string(std::string_view key) const {
  const auto* value = find(key, false);
  if (value == nullptr) return {};
  if (value->type != gguf_type::string) wrong_type(key, *value, "a string");
  return load_string(value->data);
}

std::vector<std::string_view> gguf_file::strings(std::string_view key) const {
  const auto* value = find(key, true);
  if (value == nullptr) return {};
  if (value->type != gguf_type::string) wrong_type(key, *value, "strings");
  std::vector<std::string_view> result;
  result.reserve(value->count);
  const auto* at = value->data;
  for (std::uint64_t i = 0; i < value->count; ++i) {
    result.push_back(load_string(at));
    at += 8 + result.back().size();
  }
  return result;
}

std::vector<std::int64_t> gguf_file::integers(std::string_view key) const {
  const auto* value = find(key, true);
  if (value == nullptr) return {};
  if (!is_integer(value->type) && value->type != gguf_type::boolean) {
    wrong_type(key, *value, "integers");
  }
  std::vector<std::int64_t> result;
  result.reserve(value->count);
  const auto size = gguf_scalar_bytes(value->type);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    result.push_back(load_integer(value->type, value->data + i * size));
  }
  return result;
}

std::vector<double> gguf_file::numbers(std::string_view key) const {
  const auto* value = find(key, true);
  if (value == nullptr) return {};
  if (!is_float(value->type) && !is_integer(value->type)) {
    wrong_type(key, *value, "numbers");
  }
  std::vector<double> result;
  result.reserve(value->count);
  const auto size = gguf_scalar_bytes(value->type);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    result.push_back(load_number(value->type, value->data + i * size));
  }
  return result;
}

std::string_view gguf_file::require_string(std::string_view key) const {
  if (const auto value = string(key)) return *value;
  throw input_error{path_.string(),
                    "key '" + std::string{key} + "' is missing"};
}

std::int64_t gguf_file::require_integer(std::string_view key) const {
  if (const auto value = integer(key)) return *value;
  throw input_error{path_.string(),
                    "key '" + std::string{key} + "' is missing"};
}

const gguf_tensor* gguf_file::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

std::string gguf_file::fingerprint() const {
  content_hash hash;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    auto header = parts_[part].bytes().size();
    for (const auto& tensor : tensors_) {
      if (tensor.part == part) header = std::min(header, tensor.file_offset);
    }
    hash.add_file(parts_[part], header);
  }
  return hash.text();
}

}  // namespace vouch::engine
