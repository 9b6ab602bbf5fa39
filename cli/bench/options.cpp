#include "cli/bench/options.hpp"

#include <algorithm>

namespace vouch::cli::bench {

bool options::wants(part which) const {
  return only.empty() ||
         std::find(only.begin(), only.end(),
                   part_names[static_cast<std::size_t>(which)]) != only.end();
}

}  // namespace vouch::cli::bench
