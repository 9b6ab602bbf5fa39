#include "engine/faults/fault_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace vouch::engine {

fault_plan fault_plan::parse(std::string_view text) {
  fault_plan plan;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find_first_of(";\n", at), text.size());
    const auto line = text.substr(at, end - at);
    at = end + 1;
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    const auto last = line.find_last_not_of(" \t\r");
    try {
      plan.specs_.push_back(parse_fault(line.substr(first, last - first + 1)));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument{std::to_string(plan.specs_.size() + 1) +
                                  ": " + error.what()};
    }
  }
  return plan;
}

std::string fault_plan::text() const {
  std::string line;
  for (const auto& spec : specs_) {
    line += (line.empty() ? "" : "; ") + spec.text();
  }
  return line;
}

const fault_spec* fault_plan::find(fault_site site,
                                   const fault_row& row) const {
  for (const auto& spec : specs_) {
    if (spec.site == site && spec.matches(row)) return &spec;
  }
  return nullptr;
}

bool fault_plan::has(fault_site site) const {
  return std::any_of(specs_.begin(), specs_.end(),
                     [&](const auto& spec) { return spec.site == site; });
}

}  // namespace vouch::engine
