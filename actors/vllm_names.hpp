#pragma once

#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace vouch::actors {

/// Appends a copy of each common family under the name that vLLM's dashboards
/// and benchmark clients look for, with vLLM's labels `model_name` and
/// `engine`. Speculation's names come with speculation.
void add_vllm_names(std::vector<prometheus::MetricFamily>& families,
                    const std::string& model_name);

}  // namespace vouch::actors
