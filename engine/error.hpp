#pragma once

#include <stdexcept>
#include <string>

namespace vouch::engine {

/// A file (model, tokenizer, template, policy, configuration) that cannot be
/// used. what() names the file, then the field, tensor, line or byte offset,
/// then what is wrong: "model.gguf: tensor 'x' at offset 96: ...". The command
/// line turns it into exit code 2.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  input_error(const std::string& file, const std::string& detail)
      : std::runtime_error(file + ": " + detail) {}
};

}  // namespace vouch::engine
