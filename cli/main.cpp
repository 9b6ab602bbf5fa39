#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "cli/commands.hpp"
#include "cli/version.hpp"
#include "engine/error.hpp"

namespace {

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
  vouch::cli::add_inspect(app, chosen);
  vouch::cli::add_tokenize(app, chosen);
  vouch::cli::add_template(app, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? vouch::cli::exit_ok : vouch::cli::exit_usage;
  }
  return chosen();
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
