#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace vouch::cli {

/// Exit codes of every command.
inline constexpr int exit_ok = 0;
/// The command ran and what it was asked to do failed.
inline constexpr int exit_failed = 1;
/// Usage, or a file that cannot be used (engine::input_error).
inline constexpr int exit_usage = 2;

/// What a chosen subcommand runs after parsing; returns the exit code.
using action = std::function<int()>;

/// Each adds its subcommand to `app` and sets `chosen` when it is picked.
void add_serve(CLI::App& app, action& chosen);
void add_generate(CLI::App& app, action& chosen);
void add_chat(CLI::App& app, action& chosen);
void add_compare(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);
void add_bisect(CLI::App& app, action& chosen);
void add_inspect(CLI::App& app, action& chosen);
void add_tokenize(CLI::App& app, action& chosen);
void add_template(CLI::App& app, action& chosen);
void add_transcript(CLI::App& app, action& chosen);
void add_probe(CLI::App& app, action& chosen);

}  // namespace vouch::cli
