#pragma once

#include <vector>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/checkpoint/json_file.hpp"
#include "engine/models/model_config.hpp"
#include "engine/types.hpp"

namespace vouch::engine {

/// Reads a Hugging Face config.json: today's fields (`rope_parameters`) and the
/// older ones (`rope_theta` with `rope_scaling`, `type` for `rope_type`).
/// Families and features that the models do not compute are refused by name.
model_config read_config(const json_object& config);

/// The object that holds the rotary parameters, and the theta of older files,
/// into `result`, whose max_position is set.
void read_rope(const json_object& config, model_config& result);

/// The end-of-generation ids of generation_config.json or config.json.
std::vector<token_id> read_eos(const json_object& file,
                               const model_config& config);

/// The sampling defaults of generation_config.json.
generation_defaults read_defaults(const json_object& file);

}  // namespace vouch::engine
