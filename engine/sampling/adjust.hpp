#pragma once

#include <span>

#include "engine/sampling/pick.hpp"

namespace vouch::engine {

/// True when `adjust` would leave a row as it is.
bool leaves_row_alone(const sampling_params& params,
                      const pick_context& context);

/// Steps 2 to 4 of `pick`, in place: bias, penalties, stop tokens. Tokens
/// outside the row are skipped.
void adjust(std::span<float> row, const sampling_params& params,
            const pick_context& context);

}  // namespace vouch::engine
