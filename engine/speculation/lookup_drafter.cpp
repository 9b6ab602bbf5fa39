#include "engine/speculation/lookup_drafter.hpp"

namespace vouch::engine {
namespace {

int evidence_of(int match_length) {
  if (match_length <= 2) return 0;
  if (match_length == 3) return 1;
  return match_length < 8 ? 2 : 3;
}

class lookup_sequence : public sequence_drafter {
 public:
  explicit lookup_sequence(const lookup_options& options) : index_{options} {}

  void commit(std::span<const token_id> history) override {
    index_.commit(history);
  }

  draft propose(std::span<const token_id> history, int width) override {
    index_.commit(history);
    draft out;
    const auto found = width > 1 ? index_.find(history) : std::nullopt;
    if (!found) return out;
    out.evidence = evidence_of(found->length);
    const auto size = std::ssize(history);
    for (std::int64_t i = 0; i < width - 1; ++i) {
      const auto from = found->next + i;
      out.tokens.push_back(
          from < size ? history[static_cast<std::size_t>(from)]
                      : out.tokens[static_cast<std::size_t>(from - size)]);
    }
    return out;
  }

 private:
  lookup_index index_;
};

}  // namespace

std::unique_ptr<sequence_drafter> lookup_drafter::open() const {
  return std::make_unique<lookup_sequence>(options_);
}

}  // namespace vouch::engine
