#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "engine/checkpoint/checkpoint.hpp"

namespace vouch::engine {

/// A checkpoint's tensors by name.
class tensor_index {
 public:
  tensor_index() = default;
  explicit tensor_index(std::vector<tensor_view> tensors)
      : tensors_{std::move(tensors)} {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      by_name_.emplace(tensors_[i].name, i);
    }
  }
  // The names in by_name_ point into tensors_, whose elements a move keeps.
  tensor_index(tensor_index&&) = default;
  tensor_index& operator=(tensor_index&&) = default;

  const std::vector<tensor_view>& all() const { return tensors_; }
  const tensor_view* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
  }

 private:
  std::vector<tensor_view> tensors_;
  std::map<std::string_view, std::size_t> by_name_;
};

}  // namespace vouch::engine
