#pragma once

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/models/dflash.hpp"
#include "tests/engine/models/model_runner.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::test {

inline std::filesystem::path dflash_fixture(const std::string& name) {
  return fixture("dflash/" + name);
}

inline std::vector<engine::token_id> ids_of(const engine::json_object& object,
                                            const char* field) {
  std::vector<engine::token_id> result;
  for (const auto id : object.integers(field)) {
    result.push_back(static_cast<engine::token_id>(id));
  }
  return result;
}

/// What tools/golden/make_dflash.py wrote about one form of drafter.
struct dflash_golden {
  struct round {
    /// Anchor and drafts, as the target verified them.
    std::vector<engine::token_id> block;
    std::int64_t accepted = 0;
    std::vector<engine::token_id> drafts;
    /// [block][vocabulary], the anchor's row first.
    std::vector<float> logits;
  };
  std::string weights;
  std::vector<engine::token_id> prompt;
  std::vector<round> rounds;
  std::size_t vocabulary = 0;

  explicit dflash_golden(const std::string& form) {
    const auto file =
        engine::json_object::load(dflash_fixture(form + "/rounds.json"));
    weights = file.string("weights").value();
    prompt = ids_of(file, "prompt");
    std::size_t rows = 0;
    for (const auto& entry : file.objects("rounds")) {
      rounds.push_back({ids_of(entry, "block"),
                        entry.integer("accepted").value(),
                        ids_of(entry, "drafts"),
                        {}});
      rows += rounds.back().block.size();
    }
    const auto bytes = read_file(dflash_fixture(form + "/logits.f32"));
    vocabulary = bytes.size() / sizeof(float) / rows;
    std::size_t at = 0;
    for (auto& entry : rounds) {
      entry.logits.resize(entry.block.size() * vocabulary);
      const auto size = entry.logits.size() * sizeof(float);
      std::memcpy(entry.logits.data(), bytes.data() + at, size);
      at += size;
    }
  }
};

/// A form's configuration beside the weights it shares with another.
inline temporary_folder dflash_folder(const std::string& form) {
  temporary_folder folder;
  std::filesystem::copy_file(dflash_fixture(form + "/config.json"),
                             folder.path() / "config.json");
  std::filesystem::create_symlink(
      dflash_fixture(dflash_golden{form}.weights + "/model.safetensors"),
      folder.path() / "model.safetensors");
  return folder;
}

/// The tiny target, and drafters for it.
class dflash_world {
 public:
  explicit dflash_world(int threads = 2)
      : pool{threads},
        source{engine::open_checkpoint(dflash_fixture("target"))},
        target{*source, pool, 256} {}

  std::variant<std::unique_ptr<engine::dflash>, engine::dflash_declined> load(
      const std::filesystem::path& path,
      const engine::dflash_options& options = {}) {
    return engine::load_dflash(path, target.model(), pool, options);
  }

  /// Fails the test when the drafter is declined.
  std::unique_ptr<engine::dflash> require(
      const std::filesystem::path& path,
      const engine::dflash_options& options = {}) {
    auto result = load(path, options);
    if (auto* declined = std::get_if<engine::dflash_declined>(&result)) {
      ADD_FAILURE() << declined->words;
      throw std::runtime_error{declined->words};
    }
    return std::move(std::get<std::unique_ptr<engine::dflash>>(result));
  }

  std::unique_ptr<engine::dflash> form(
      const std::string& name, const engine::dflash_options& options = {}) {
    const auto folder = dflash_folder(name);
    return require(folder.path(), options);
  }

  /// The taps of every token, computed whole.
  std::vector<float> taps(const engine::dflash& drafter,
                          const std::vector<engine::token_id>& tokens) {
    tap(drafter);
    target.restart();
    target.step(tokens, 1);
    return target.taps();
  }

  void tap(const engine::dflash& drafter) {
    target.tap({drafter.taps().begin(), drafter.taps().end()});
  }

  kernels::thread_pool pool;
  std::shared_ptr<engine::checkpoint> source;
  model_runner target;
};

}  // namespace vouch::test
