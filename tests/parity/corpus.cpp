#include "tests/parity/corpus.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace vouch::test {
namespace {

struct section {
  std::string name;
  std::string kind;
  std::size_t tokens = 0;
  std::string text;
};

std::vector<section> read_sections(const std::filesystem::path& file) {
  std::ifstream in{file};
  if (!in) throw std::runtime_error{file.string() + " cannot be read"};
  std::vector<section> found;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("== ")) {
      section next;
      std::istringstream words{line.substr(3)};
      if (!(words >> next.name >> next.kind)) {
        throw std::runtime_error{file.string() + ": '" + line + "'"};
      }
      words >> next.tokens;
      found.push_back(std::move(next));
    } else if (!found.empty()) {
      auto& text = found.back().text;
      text += (text.empty() ? "" : "\n") + line;
    } else if (!line.starts_with("#")) {
      throw std::runtime_error{file.string() + ": text before a prompt"};
    }
  }
  return found;
}

}  // namespace

std::vector<parity_prompt> load_parity_prompts(
    const std::filesystem::path& file, const engine::tokenizer& tokenizer) {
  std::vector<parity_prompt> prompts;
  std::string all;
  for (auto& each : read_sections(file)) {
    std::string text = each.text;
    if (each.kind == "chat") {
      text =
          "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n";
    }
    while (each.tokens > 0 && text.size() < 8 * each.tokens) text += all;
    auto tokens = tokenizer.encode(text, {});
    if (each.tokens > 0) tokens.resize(each.tokens);
    prompts.push_back({each.name, each.kind, std::move(tokens)});
    all += each.text + "\n\n";
  }
  return prompts;
}

}  // namespace vouch::test
