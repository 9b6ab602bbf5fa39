#include "cli/bench/options.hpp"

#include <algorithm>
#include <string>

#include "engine/error.hpp"
#include "engine/speculation/width_set.hpp"

namespace vouch::cli::bench {

bool options::wants(part which) const {
  if (only.empty()) return which != part::plans || plan != "invariant";
  return std::find(only.begin(), only.end(),
                   part_names[static_cast<std::size_t>(which)]) != only.end();
}

void options::set_arm_defaults() {
  if (!sweep && !price_list) return;
  if (!tokens_given) tokens = 128;
  if (!widths_given && sweep) widths = {2, 3, 4, 6, 8};
  if (!widths_given && price_list) widths = {4};
  if (!streams_given && price_list) streams = {1, 8};
  for (const auto width : widths) {
    if (width < 2 || width > engine::max_round_width) {
      throw engine::input_error(
          "--widths", std::to_string(width) + ": a verified block has 2 to " +
                          std::to_string(engine::max_round_width) + " rows");
    }
  }
}

}  // namespace vouch::cli::bench
