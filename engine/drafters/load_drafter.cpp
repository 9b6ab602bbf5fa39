#include "engine/drafters/load_drafter.hpp"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <sys/random.h>
#include <system_error>
#include <utility>
#include <variant>

#include "engine/config/toml_reader.hpp"
#include "engine/drafters/dflash_drafter.hpp"
#include "engine/drafters/model_drafter.hpp"
#include "engine/drafters/overwritten_drafter.hpp"
#include "engine/drafters/same_vocabulary.hpp"
#include "engine/drafters/script_text.hpp"
#include "engine/error.hpp"
#include "engine/speculation/lookup_drafter.hpp"

namespace vouch::engine {

namespace {

constexpr std::string_view scripted_prefix = "scripted:";
constexpr std::string_view over = " over ";

drafter_load declines(decline_reason reason, std::string detail) {
  drafter_load result;
  result.declined = decline{reason, std::move(detail)};
  return result;
}

drafter_load mismatch(std::string detail) {
  return declines(decline_reason::drafter_mismatch, std::move(detail));
}

/// A key that nobody who writes prompts can know.
std::uint64_t draw_key() {
  std::uint64_t key = 0;
  while (::getrandom(&key, sizeof key, 0) != sizeof key) {
    if (errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), "getrandom"};
    }
  }
  return key;
}

drafter_load load_lookup(const drafter_choice& choice) {
  lookup_options options;
  options.n_min = choice.lookup_min;
  options.n_max = choice.lookup_max;
  options.key = choice.lookup_key ? *choice.lookup_key : draw_key();
  drafter_load result;
  result.loaded = std::make_shared<const lookup_drafter>(options);
  result.description = "prompt lookup";
  return result;
}

drafter_load load_dflash_drafter(const std::filesystem::path& path,
                                 const dflash_files& files,
                                 const drafter_choice& choice,
                                 const model& target,
                                 kernels::thread_pool& pool) {
  auto loaded = load_dflash(path, target, pool, {choice.sample_from_anchor});
  if (auto* why = std::get_if<dflash_declined>(&loaded)) {
    return mismatch(std::string{name_of(why->reason)} + ": " + why->words);
  }
  drafter_load result;
  result.device = std::make_shared<dflash_drafter>(
      std::move(std::get<std::unique_ptr<dflash>>(loaded)),
      dflash_drafter_options{.context_bytes = choice.context_bytes,
                             .name = files.default_name(),
                             .fingerprint = files.fingerprint()});
  return result;
}

drafter_load load_draft_model(const std::filesystem::path& path,
                              const drafter_choice& choice, const model& target,
                              const tokenizer* words,
                              kernels::thread_pool& pool) {
  const auto files = open_checkpoint(path);
  const auto size = files->config().vocab_size;
  if (size != target.config().vocab_size) {
    return mismatch("wrong_vocabulary: " + path.string() +
                    ": its vocabulary's size is " + std::to_string(size) +
                    ", the target's " +
                    std::to_string(target.config().vocab_size));
  }
  const auto own = words != nullptr ? tokenizer_of(path) : nullptr;
  if (own != nullptr) {
    const auto difference = vocabulary_difference(*own, *words);
    if (!difference.empty()) {
      return mismatch("wrong_vocabulary: " + path.string() + ": its " +
                      difference);
    }
  }
  auto loaded = std::make_shared<model_drafter>(
      load_model(*files, pool),
      model_drafter_options{.slots = choice.slots,
                            .context = choice.context,
                            .kv_bytes = choice.context_bytes,
                            .catch_up = choice.catch_up,
                            .name = files->default_name(),
                            .fingerprint = files->fingerprint()});
  loaded->warm_up(pool);
  drafter_load result;
  result.device = std::move(loaded);
  return result;
}

drafter_load load_files(const std::string& name, const drafter_choice& choice,
                        const model& target, const tokenizer* words,
                        kernels::thread_pool& pool) {
  const std::filesystem::path path{name};
  if (!std::filesystem::exists(path)) {
    const auto near = nearest_word(name, {"lookup", "none", "scripted:"});
    return mismatch("'" + name +
                    "' is no drafter and no path that exists ('lookup', "
                    "'none', 'scripted:...', or a model's file or folder)" +
                    (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  const auto dflash = open_dflash(path);
  auto result = dflash != nullptr
                    ? load_dflash_drafter(path, *dflash, choice, target, pool)
                    : load_draft_model(path, choice, target, words, pool);
  if (result.device) {
    result.description = result.device->description();
    result.fingerprint = result.device->fingerprint();
  }
  return result;
}

drafter_load load_script(std::string_view text, const drafter_choice& choice,
                         const model& target, const tokenizer* words,
                         kernels::thread_pool& pool) {
  const auto at = text.find(over);
  auto options = parse_script(text.substr(0, at),
                              static_cast<token_id>(target.config().vocab_size),
                              choice.oracle);
  options.seed = choice.script_seed;
  auto script = scripted_drafter::make(std::move(options));
  script.description =
      std::string{scripted_prefix} + std::string{text.substr(0, at)};
  if (at == std::string_view::npos || script.declined) return script;
  auto live = load_files(std::string{text.substr(at + over.size())}, choice,
                         target, words, pool);
  if (live.declined) return live;
  live.device =
      std::make_shared<overwritten_drafter>(live.device, script.loaded);
  live.description = script.description + " over " + live.description;
  return live;
}

}  // namespace

drafter_load load_drafter(const drafter_choice& choice, const model& target,
                          const tokenizer* words, kernels::thread_pool& pool) {
  const auto& name = choice.name;
  if (name.empty() || name == "none") {
    return declines(decline_reason::no_drafter, "none is configured");
  }
  try {
    if (target.config().vocab_size < 1) {
      return mismatch("the model's vocabulary is empty");
    }
    if (name == "lookup") return load_lookup(choice);
    if (name.starts_with(scripted_prefix)) {
      return load_script(std::string_view{name}.substr(scripted_prefix.size()),
                         choice, target, words, pool);
    }
    return load_files(name, choice, target, words, pool);
  } catch (const std::exception& error) {
    return mismatch(error.what());
  }
}

}  // namespace vouch::engine
