#include "engine/speculation/scripted_drafter.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sampling/noise.hpp"

namespace vouch::engine {
namespace {

class scripted_sequence : public sequence_drafter {
 public:
  explicit scripted_sequence(std::shared_ptr<const scripted_options> options)
      : options_{std::move(options)} {}

  void commit(std::span<const token_id>) override {}

  draft propose(std::span<const token_id> history, int width) override {
    draft out;
    const bool odd = rounds_++ % 2 == 1;
    if (options_->mode == script::empty) return out;
    std::vector<token_id> ahead(history.begin(), history.end());
    bool lost = false;
    for (int index = 0; index < width - 1; ++index) {
      const token_id token = next(ahead, index, odd, lost);
      if (token < 0) break;
      out.tokens.push_back(token);
      ahead.push_back(token);
    }
    return out;
  }

 private:
  /// `lost` is set by a wrong draft.
  token_id next(std::span<const token_id> ahead, int index, bool odd,
                bool& lost) const {
    const auto& o = *options_;
    const auto position = static_cast<std::uint64_t>(ahead.size());
    const auto noise = philox({static_cast<std::uint32_t>(position),
                               static_cast<std::uint32_t>(position >> 32),
                               static_cast<std::uint32_t>(index), 0},
                              {static_cast<std::uint32_t>(o.seed),
                               static_cast<std::uint32_t>(o.seed >> 32)});
    const auto of = static_cast<std::uint32_t>(o.vocabulary);
    if (o.mode == script::random) return static_cast<token_id>(noise[0] % of);
    const token_id truth = o.oracle(ahead);
    const bool known = truth >= 0 && truth < o.vocabulary;
    // A block goes on behind a wrong draft, as real ones do: its rows are paid
    // for, whatever they are.
    if (!known) return lost ? static_cast<token_id>(noise[0] % of) : -1;
    if (is_right(index, odd, noise[1])) return truth;
    lost = true;
    // Any other token: 1 to vocabulary - 1 places further on.
    const auto shift = 1 + std::uint64_t{noise[0] % (of - 1)};
    return static_cast<token_id>((static_cast<std::uint64_t>(truth) + shift) %
                                 of);
  }

  bool is_right(int index, bool odd, std::uint32_t bits) const {
    switch (options_->mode) {
      case script::right:
        return true;
      case script::alternating:
        return !odd;
      case script::probable: {
        const auto& p = options_->probabilities;
        const auto at = std::min(static_cast<std::size_t>(index), p.size() - 1);
        return static_cast<double>(bits) * 0x1p-32 < p[at];
      }
      default:
        return false;
    }
  }

  std::shared_ptr<const scripted_options> options_;
  std::uint64_t rounds_ = 0;
};

}  // namespace

draft_oracle oracle_of_texts(std::vector<std::vector<token_id>> texts) {
  return [all = std::move(texts)](std::span<const token_id> history) {
    for (const auto& text : all) {
      if (text.size() > history.size() &&
          std::equal(history.begin(), history.end(), text.begin())) {
        return text[history.size()];
      }
    }
    return token_id{-1};
  };
}

std::unique_ptr<sequence_drafter> scripted_drafter::open() const {
  return std::make_unique<scripted_sequence>(options_);
}

drafter_load scripted_drafter::make(scripted_options options) {
  const bool asks =
      options.mode != script::random && options.mode != script::empty;
  if (asks && !options.oracle) {
    throw std::invalid_argument{"scripted drafter: no oracle"};
  }
  if (options.max_width < 2 || options.max_width > max_round_width) {
    throw std::invalid_argument{"scripted drafter: max_width must be 2 to " +
                                std::to_string(max_round_width)};
  }
  if (options.mode == script::probable) {
    const auto& p = options.probabilities;
    if (p.empty() || std::any_of(p.begin(), p.end(), [](double each) {
          return !(each >= 0.0 && each <= 1.0);
        })) {
      throw std::invalid_argument{
          "scripted drafter: probabilities must be in [0, 1], at least one"};
    }
  }
  if (options.vocabulary < 2) {
    return {{},
            decline{decline_reason::drafter_mismatch,
                    "a vocabulary of " + std::to_string(options.vocabulary) +
                        " tokens has no wrong ones"}};
  }
  return {std::shared_ptr<const drafter>(new scripted_drafter(
              std::make_shared<const scripted_options>(std::move(options)))),
          {}};
}

}  // namespace vouch::engine
