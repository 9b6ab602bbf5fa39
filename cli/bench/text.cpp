#include "cli/bench/text.hpp"

#include <string_view>

#include "engine/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace vouch::cli::bench {

namespace {

constexpr std::string_view passage =
    "The harbour lay quiet under a low sky. A keeper climbed the stairs of the "
    "lighthouse, counting them as he had every evening for thirty years, and "
    "found one more than the day before. He sat down on it to think. Below "
    "him, boats came home in twos and threes; their lamps drew short lines on "
    "the water, crossed, and went out. On the pier a girl sold oranges from a "
    "crate marked with the name of a town nobody could pronounce. When the "
    "wind turned north, she covered the fruit with a coat and began to read "
    "aloud from a newspaper of last week: prices of wheat and copper, a court "
    "that would not decide, the results of a chess match, rain. Two sailors "
    "stopped to listen. One of them asked whether the bridge upriver had been "
    "opened at last, and she said that it had, twice, because the ribbon had "
    "torn the first time. Far out, where the channel bends around the old "
    "fort, a bell moved with the swell and told the ships how deep it was. "
    "The keeper lit his lamp. By its light he wrote down the number of stairs, "
    "the hour, the wind, and, after some hesitation, the word oranges. Then "
    "he turned the page, for there was a second column, which his predecessor "
    "had headed with a single question mark and had filled in every night "
    "without explaining to anyone what the figures meant. ";

}  // namespace

prompts::prompts(const std::string& model)
    : passage_{engine::load_tokenizer(model)->encode(passage, {})} {
  if (passage_.empty()) {
    throw engine::input_error(model,
                              "its tokenizer makes no token of English text");
  }
}

std::vector<engine::token_id> prompts::tokens(std::int32_t count,
                                              std::int32_t start) const {
  std::vector<engine::token_id> made;
  made.reserve(static_cast<std::size_t>(count));
  for (std::int32_t i = 0; i < count; ++i) {
    made.push_back(
        passage_[static_cast<std::size_t>(start + i) % passage_.size()]);
  }
  return made;
}

}  // namespace vouch::cli::bench
