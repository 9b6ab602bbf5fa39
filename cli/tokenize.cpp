#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/text_input.hpp"
#include "engine/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::cli {

namespace {

struct options {
  std::string model;
  std::string input;
  bool decode = false;
  bool add_special = false;
  bool no_special = false;
  bool no_normalize = false;
  bool pieces = false;
};

/// Ids separated by spaces, commas, brackets or newlines.
std::vector<engine::token_id> parse_ids(const std::string& text,
                                        const engine::tokenizer& tokens) {
  static constexpr std::string_view separators = " \t\r\n,[]";
  std::vector<engine::token_id> ids;
  std::size_t at = text.find_first_not_of(separators);
  while (at != std::string::npos) {
    const auto end = std::min(text.find_first_of(separators, at), text.size());
    const auto word = text.substr(at, end - at);
    engine::token_id id = 0;
    const auto [stop, failure] =
        std::from_chars(word.data(), word.data() + word.size(), id);
    if (failure != std::errc{} || stop != word.data() + word.size()) {
      throw engine::input_error("token ids", "'" + word + "' at offset " +
                                                 std::to_string(at) +
                                                 " is not a token id");
    }
    if (id < 0 || id >= tokens.size()) {
      throw engine::input_error("token ids",
                                word + " at offset " + std::to_string(at) +
                                    " is out of the vocabulary (0 to " +
                                    std::to_string(tokens.size() - 1) + ")");
    }
    ids.push_back(id);
    at = text.find_first_not_of(separators, end);
  }
  return ids;
}

int run(const options& chosen, bool has_input) {
  const auto tokens = engine::load_tokenizer(chosen.model);
  const auto input = given_or_stdin(chosen.input, has_input);
  if (chosen.decode) {
    std::cout << tokens->decode(parse_ids(input, *tokens), chosen.no_special);
    if (isatty(STDOUT_FILENO) != 0) {
      std::cout << '\n';
    }
    return exit_ok;
  }
  engine::encode_options how;
  how.add_special_tokens = chosen.add_special;
  how.parse_special = !chosen.no_special;
  how.normalize = !chosen.no_normalize;
  std::string line;
  for (const auto id : tokens->encode(input, how)) {
    if (chosen.pieces) {
      std::cout << id << '\t' << tokens->token_text(id) << '\n';
    } else {
      line += line.empty() ? "" : " ";
      line += std::to_string(id);
    }
  }
  if (!chosen.pieces) {
    std::cout << line << '\n';
  }
  return exit_ok;
}

}  // namespace

void add_tokenize(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand(
      "tokenize",
      "Text to token ids on one line, or back. The text is taken as it is: "
      "with `echo`, the newline at its end is part of it.");
  auto picked = std::make_shared<options>();
  command
      ->add_option("-m,--model", picked->model,
                   "GGUF file (a vocabulary alone is enough), folder with "
                   "tokenizer.json, or a tokenizer.json")
      ->required();
  auto* input = command->add_option(
      "input", picked->input, "Text, or ids with --decode; absent: stdin");
  command->add_flag("-d,--decode", picked->decode, "Token ids to text");
  command->add_flag("--add-special", picked->add_special,
                    "Add what the tokenizer's post-processor adds (a BOS)");
  command->add_flag("--no-special", picked->no_special,
                    "Special tokens spelled in the text are text; with "
                    "--decode, they are left out");
  command->add_flag("--no-normalize", picked->no_normalize,
                    "Leave out the tokenizer's Unicode normaliser");
  command->add_flag("--pieces", picked->pieces,
                    "One token a line: id, tab, the vocabulary's spelling");
  command->callback([&chosen, picked, input] {
    chosen = [picked, input] { return run(*picked, input->count() > 0); };
  });
}

}  // namespace vouch::cli
