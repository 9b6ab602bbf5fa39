#include "engine/checkpoint/template_source.hpp"

#include "engine/checkpoint/folder_text.hpp"
#include "engine/checkpoint/gguf.hpp"

namespace vouch::engine {

std::string find_chat_template(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    return read_chat_template(path);
  }
  if (path.extension() == ".json") {
    return read_chat_template(path.parent_path());
  }
  return std::string{
      gguf_file::open(path).string("tokenizer.chat_template").value_or("")};
}

}  // namespace vouch::engine
