#include <array>
#include <utility>

#include "engine/models/dflash.hpp"

namespace vouch::engine {

namespace {

std::optional<dflash_declined> declined(dflash_decline reason,
                                        const dflash_config& config,
                                        const std::string& words) {
  return dflash_declined{reason, config.file + ": " + words};
}

std::string both(const std::string& what, std::int64_t drafter,
                 std::int64_t target) {
  return what + " is " + std::to_string(drafter) + ", the target's " +
         std::to_string(target);
}

std::optional<dflash_declined> mismatch(const dflash_files& files,
                                        const model_config& target,
                                        const std::vector<std::int32_t>& taps) {
  using enum dflash_decline;
  const auto& config = files.drafter();
  const auto& shape = config.shape;
  if (config.target_layers != 0 && config.target_layers != target.layers) {
    return declined(wrong_shape, config,
                    both("its target's number of layers", config.target_layers,
                         target.layers));
  }
  if (config.tap_width != target.hidden_size) {
    return declined(
        wrong_shape, config,
        both("its taps' width", config.tap_width, target.hidden_size));
  }
  const bool shares =
      files.find("embed_tokens.weight") == nullptr ||
      (files.find("lm_head.weight") == nullptr && !shape.tied_head);
  if (shares && shape.hidden_size != target.hidden_size) {
    return declined(
        wrong_shape, config,
        both("its hidden size", shape.hidden_size, target.hidden_size) +
            ", and it uses the target's embedding or head");
  }
  for (const auto tap : taps) {
    // After the last layer the references disagree about the final norm.
    if (tap < 0 || tap >= target.layers - 1) {
      return declined(wrong_shape, config,
                      "it taps layer " + std::to_string(tap) +
                          ", which is not one before the last of " +
                          std::to_string(target.layers));
    }
  }
  if (shape.vocab_size != target.vocab_size) {
    return declined(
        wrong_vocabulary, config,
        both("its vocabulary's size", shape.vocab_size, target.vocab_size));
  }
  if (config.mask_token >= target.vocab_size) {
    return declined(
        wrong_vocabulary, config,
        both("its mask token", config.mask_token, target.vocab_size) +
            " tokens");
  }
  for (const auto id : files.draft_to_target()) {
    if (id >= target.vocab_size) {
      return declined(
          wrong_vocabulary, config,
          both("a token it may draft", id, target.vocab_size) + " tokens");
    }
  }
  return {};
}

std::optional<dflash_declined> unsupported(
    const dflash_files& files, const std::vector<std::int32_t>& taps) {
  using enum dflash_decline;
  const auto& config = files.drafter();
  const auto refuse = [&](const std::string& what) {
    return declined(unsupported_form, config, what + " is not supported");
  };
  if (!config.unsupported.empty()) return refuse(config.unsupported);
  if (config.shape.head_dim % 16 != 0 || config.shape.head_dim > 256) {
    return refuse("a head dimension of " +
                  std::to_string(config.shape.head_dim));
  }
  if (config.draft_vocab_size > 0 &&
      (config.selector || config.markov_rank > 0)) {
    return refuse("a selector or Markov head over an own vocabulary");
  }
  const auto foreign =
      foreign_tensor(files, static_cast<std::int32_t>(taps.size()));
  if (!foreign.empty()) return refuse("the tensor '" + foreign + "'");
  return {};
}

}  // namespace

std::string_view name_of(dflash_decline reason) {
  constexpr std::array<std::string_view, 5> names{
      "wrong_family", "unsupported_form", "unsupported_target", "wrong_shape",
      "wrong_vocabulary"};
  return names.at(static_cast<std::size_t>(reason));
}

std::variant<std::unique_ptr<dflash>, dflash_declined> load_dflash(
    const std::filesystem::path& path, const model& target,
    kernels::thread_pool& pool, const dflash_options& options) {
  const auto files = open_dflash(path);
  if (files == nullptr) {
    return dflash_declined{dflash_decline::wrong_family,
                           path.string() + ": is no DFlash drafter"};
  }
  if (!target.serves_drafters()) {
    return dflash_declined{dflash_decline::unsupported_target,
                           "the target's family '" + target.config().family +
                               "' hands out no hidden states"};
  }
  const auto& config = files->drafter();
  auto taps = config.taps;
  if (taps.empty()) {
    taps = default_taps(target.config().layers, config.shape.layers);
  }
  if (auto decline = unsupported(*files, taps)) return *std::move(decline);
  if (auto decline = mismatch(*files, target.config(), taps)) {
    return *std::move(decline);
  }
  const bool from_anchor =
      options.sample_from_anchor.value_or(config.sample_from_anchor);
  return std::make_unique<dflash>(files, std::move(taps), from_anchor, pool);
}

}  // namespace vouch::engine
