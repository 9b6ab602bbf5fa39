#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "engine/faults/fault_spec.hpp"

namespace vouch::engine {

namespace {

/// "rows>=2" taken apart; a bare word has no relation.
struct term {
  std::string_view key;
  std::string_view relation;
  std::string_view value;
};

template <class Names>
std::optional<std::size_t> index_in(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

term split(std::string_view word) {
  const auto at = word.find_first_of("<>=");
  if (at == std::string_view::npos) return {word, {}, {}};
  const auto rest = word.substr(at);
  const std::size_t size = rest[0] != '=' && rest.substr(1, 1) == "=" ? 2 : 1;
  return {word.substr(0, at), rest.substr(0, size), rest.substr(size)};
}

/// Reads one line, term by term.
class fault_reader {
 public:
  explicit fault_reader(std::string_view line) : line_{line} {}

  fault_spec read() {
    for (std::size_t at = 0; at < line_.size();) {
      const auto end = std::min(line_.find_first_of(" \t", at), line_.size());
      if (end > at) take(split(line_.substr(at, end - at)));
      at = end + 1;
    }
    if (!has("op")) refuse("op", "is missing");
    check_conditions();
    check_effect();
    return spec_;
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
    throw std::invalid_argument{"fault '" + std::string{line_} +
                                "': " + std::string{key} + ": " + why};
  }

  std::int64_t number(const term& t, std::string_view text, std::int64_t least,
                      std::int64_t most) const {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() ||
        text.empty() || value < least || value > most) {
      std::string why{"'"};
      why += text;
      why += "' is not a number from " + std::to_string(least) + " to " +
             std::to_string(most);
      refuse(t.key, why);
    }
    return value;
  }

  bool has(std::string_view key) const {
    const std::string name{key};
    return seen_.count(name) + seen_.count(name + ">=") +
               seen_.count(name + "<=") >
           0;
  }

  void take(const term& t) {
    const auto key = index_in(fault_key_names, t.key);
    // Of ranges only a lower and an upper bound go together.
    const bool bound = key && (t.relation == ">=" || t.relation == "<=");
    const std::string name{t.key};
    if ((bound ? seen_.count(name) > 0 : has(t.key)) ||
        !seen_.insert(bound ? name + std::string{t.relation} : name).second) {
      refuse(t.key, "given twice");
    }
    if (key) {
      take_range(t, spec_.ranges[*key]);
      return;
    }
    if (const auto effect = index_in(fault_effect_names, t.key);
        effect && *effect > 0) {
      take_effect(t, static_cast<fault_effect>(*effect));
      return;
    }
    if (t.key != "op" && t.key != "phase" && t.key != "after" &&
        t.key != "after_step" && t.key != "every" && t.key != "element" &&
        t.key != "most") {
      refuse(t.key, "no such key");
    }
    if (t.relation != "=") refuse(t.key, "takes '='");
    take_value(t);
  }

  void take_value(const term& t) {
    if (t.key == "op") {
      take_op(t);
    } else if (t.key == "phase") {
      const auto phase = index_in(fault_phase_names, t.value);
      if (!phase) refuse(t.key, "is prefill, decode or verify");
      spec_.phase = static_cast<row_kind>(*phase);
    } else if (t.key == "after") {
      if (t.value != "rollback") refuse(t.key, "can only be rollback");
      spec_.after_rollback = true;
    } else if (t.key == "after_step") {
      spec_.after_step =
          static_cast<std::uint64_t>(number(t, t.value, 0, largest));
    } else if (t.key == "every") {
      spec_.every = static_cast<std::uint64_t>(number(t, t.value, 1, largest));
    } else if (t.key == "element") {
      spec_.element = number(t, t.value, 0, largest);
    } else {
      spec_.most = number(t, t.value, 1, largest);
    }
  }

  void take_op(const term& t) {
    if (const auto op = model_op_of(t.value)) {
      spec_.op = *op;
      return;
    }
    const auto site = index_in(fault_site_names, t.value);
    if (!site || *site == 0) {
      std::string why{"there is no op '"};
      why += t.value;
      refuse(t.key, why + "'");
    }
    spec_.site = static_cast<fault_site>(*site);
  }

  void take_range(const term& t, fault_range& range) {
    if (t.relation == ">=") {
      range.low = number(t, t.value, 0, largest);
    } else if (t.relation == "<=") {
      range.high = number(t, t.value, 0, largest);
    } else if (t.relation == "=" && t.value != "*") {
      const auto dash = t.value.find('-');
      range.low = number(t, t.value.substr(0, dash), 0, largest);
      range.high = dash == std::string_view::npos
                       ? range.low
                       : number(t, t.value.substr(dash + 1), 0, largest);
    } else if (t.relation != "=") {
      refuse(t.key, "takes '=', '>=' or '<='");
    }
    if (range.low > range.high) refuse(t.key, "no number is in the range");
  }

  void take_effect(const term& t, fault_effect effect) {
    if (spec_.effect != fault_effect::own) {
      refuse(t.key, "a fault has one effect");
    }
    spec_.effect = effect;
    if (effect == fault_effect::ulp) {
      if (t.relation != "=") refuse(t.key, "takes '='");
      spec_.ulps = number(t, t.value, -most_ulps, most_ulps);
      if (spec_.ulps == 0) refuse(t.key, "0 changes nothing");
    } else if (!t.relation.empty() && (t.relation != "=" || t.value != "1")) {
      refuse(t.key, "stands alone or is 1");
    }
  }

  bool outside_of_steps() const {
    return spec_.site >= fault_site::prefix_cache;
  }

  /// A condition that the site cannot see would never hold, or always.
  void check_conditions() const {
    const bool layered = spec_.site == fault_site::model && in_layers(spec_.op);
    if (has("layer") && !layered) refuse("layer", "this op has no layers");
    const bool implied = spec_.site == fault_site::sampler_position ||
                         spec_.site == fault_site::penalties ||
                         spec_.site == fault_site::width;
    if (has("phase") && implied) refuse("phase", "this op is of verify rows");
    if (has("after") && spec_.site == fault_site::rollback) {
      refuse("after", "this op lies behind a rollback by itself");
    }
    if (outside_of_steps()) {
      for (const auto* key : {"rows", "mixed_rows", "items", "batch_row",
                              "item_rows", "phase", "after"}) {
        if (has(key)) refuse(key, "this op is not part of a step");
      }
      if (has("item_row") && spec_.site != fault_site::stop) {
        refuse("item_row", "this op has no rows");
      }
    }
    if (has("most") != (spec_.site == fault_site::width)) {
      refuse("most", has("most") ? "is op=width's" : "is missing");
    }
  }

  void check_effect() const {
    const bool blocks = spec_.effect == fault_effect::wrong_block ||
                        spec_.effect == fault_effect::extra_block;
    const std::string effect{
        fault_effect_names[static_cast<std::size_t>(spec_.effect)]};
    switch (spec_.site) {
      case fault_site::model:
        if (spec_.effect == fault_effect::own) {
          refuse("op", "an effect is missing: ulp, stale, zero, nan or swap");
        }
        if (blocks) refuse(effect, "is op=prefix_cache's");
        break;
      case fault_site::width:
        if (spec_.effect != fault_effect::ulp) refuse("ulp", "is missing");
        break;
      case fault_site::prefix_cache:
        if (!blocks) refuse("op", "wrong_block or extra_block is missing");
        break;
      default:
        if (spec_.effect != fault_effect::own) {
          refuse(effect, "this op has its own effect");
        }
    }
    if (spec_.element && spec_.effect != fault_effect::ulp) {
      refuse("element", "goes with ulp");
    }
  }

  static constexpr std::int64_t largest = std::int64_t{1} << 53;
  static constexpr std::int64_t most_ulps = 1'000'000'000;

  std::string_view line_;
  fault_spec spec_;
  /// Keys, of bounds with the relation.
  std::set<std::string> seen_;
};

}  // namespace

fault_spec parse_fault(std::string_view text) {
  return fault_reader{text}.read();
}

}  // namespace vouch::engine
