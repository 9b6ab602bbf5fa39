#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/version.hpp"
#include "engine/config/toml_reader.hpp"
#include "engine/error.hpp"

namespace {

/// What to say about a first word that is no command; empty when it is one.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return {};
  }
  const std::string word = argv[1];
  std::vector<std::string> commands;
  for (const auto* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    if (commands.back() == word) {
      return {};
    }
  }
  const auto near = vouch::engine::nearest_word(word, commands);
  return "'" + word + "' is not a command" +
         (near.empty() ? "" : ", did you mean '" + near + "'?") +
         " (vouch --help lists them)";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Vouch serves language models and vouches, by measurement, that batching "
      "and caching changed no byte of what the model alone would say."};
  app.name("vouch");
  app.set_version_flag("--version", vouch::cli::version_text());
  app.require_subcommand(1);
  app.footer(
      "`vouch COMMAND --help` lists a command's options.\n"
      "Exit status: 0 done, 1 it ran and failed, 2 usage or an unusable file.");

  vouch::cli::action chosen;
  vouch::cli::add_serve(app, chosen);
  vouch::cli::add_generate(app, chosen);
  vouch::cli::add_chat(app, chosen);
  vouch::cli::add_compare(app, chosen);
  vouch::cli::add_bench(app, chosen);
  vouch::cli::add_bisect(app, chosen);
  vouch::cli::add_inspect(app, chosen);
  vouch::cli::add_tokenize(app, chosen);
  vouch::cli::add_template(app, chosen);
  vouch::cli::add_transcript(app, chosen);
  vouch::cli::add_probe(app, chosen);

  if (const auto wrong = unknown_command(app, argc, argv); !wrong.empty()) {
    std::cerr << "vouch: " << wrong << '\n';
    return vouch::cli::exit_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? vouch::cli::exit_ok : vouch::cli::exit_usage;
  }
  const int code = chosen();
  // A full disk or a closed pipe must not look like success.
  if (!std::cout.flush()) {
    std::cerr << "vouch: standard output cannot be written\n";
    return vouch::cli::exit_failed;
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe or socket is an error to handle, not a reason to die.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const vouch::engine::input_error& error) {
    std::cerr << "vouch: " << error.what() << '\n';
    return vouch::cli::exit_usage;
  } catch (const std::exception& error) {
    std::cerr << "vouch: " << error.what() << '\n';
    return vouch::cli::exit_failed;
  }
}
