#include "engine/faults/fault_spec.hpp"

namespace vouch::engine {

namespace {

template <class Enum, class Names>
std::string_view name_in(const Names& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

/// " rows>=2", or nothing for a range that holds every number.
std::string condition_text(std::string_view key, const fault_range& range) {
  if (range == fault_range{}) return {};
  std::string text{" "};
  text += key;
  if (range.low == range.high) {
    text += "=";
    text += std::to_string(range.low);
  } else if (range.high == fault_range{}.high) {
    text += ">=";
    text += std::to_string(range.low);
  } else if (range.low == 0) {
    text += "<=";
    text += std::to_string(range.high);
  } else {
    text += "=";
    text += std::to_string(range.low);
    text += "-";
    text += std::to_string(range.high);
  }
  return text;
}

bool site_matches(const fault_spec& spec, const fault_row& row) {
  switch (spec.site) {
    case fault_site::rollback:
      return row.rewritten && row.item_row == 0;
    case fault_site::sampler_position:
    case fault_site::penalties:
      return row.phase == row_kind::verify;
    case fault_site::width:
      return row.phase == row_kind::verify && row.item_rows != spec.most;
    default:
      return true;
  }
}

}  // namespace

bool fault_spec::matches(const fault_row& row) const {
  const auto holds = [&](fault_key key, std::int64_t value) {
    return range(key).holds(value);
  };
  return row.step > after_step && (row.step - after_step - 1) % every == 0 &&
         (!phase || *phase == row.phase) &&
         (!after_rollback || row.rewritten) &&
         holds(fault_key::rows, row.rows) &&
         holds(fault_key::mixed_rows, row.mixed_rows) &&
         holds(fault_key::items, row.items) &&
         holds(fault_key::batch_row, row.batch_row) &&
         holds(fault_key::item_rows, row.item_rows) &&
         holds(fault_key::item_row, row.item_row) &&
         holds(fault_key::position, row.position) && site_matches(*this, row);
}

std::string fault_spec::text() const {
  std::string line;
  const auto add = [&line](std::string_view key, std::string_view value) {
    if (!line.empty()) line += " ";
    line += key;
    line += "=";
    line += value;
  };
  add("op", site == fault_site::model ? name_of(op)
                                      : name_in(fault_site_names, site));
  for (std::size_t key = 0; key < ranges.size(); ++key) {
    line += condition_text(fault_key_names[key], ranges[key]);
  }
  if (phase) add("phase", name_in(fault_phase_names, *phase));
  if (after_rollback) add("after", "rollback");
  if (after_step > 0) add("after_step", std::to_string(after_step));
  if (every > 1) add("every", std::to_string(every));
  if (site == fault_site::width) add("most", std::to_string(most));
  if (effect != fault_effect::own) {
    add(name_in(fault_effect_names, effect),
        effect == fault_effect::ulp ? std::to_string(ulps) : "1");
  }
  if (element) add("element", std::to_string(*element));
  return line;
}

}  // namespace vouch::engine
