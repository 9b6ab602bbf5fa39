#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/faults/fault_spec.hpp"

namespace vouch::engine {

/// The faults that are planted in a process; a value. For tests of what must
/// find them: nothing plants one by itself.
class fault_plan {
 public:
  fault_plan() = default;
  explicit fault_plan(std::vector<fault_spec> specs)
      : specs_{std::move(specs)} {}

  /// Faults one a line, or with ';' between them. Throws
  /// std::invalid_argument, which has the fault's number and the key.
  static fault_plan parse(std::string_view text);

  bool empty() const { return specs_.empty(); }
  const std::vector<fault_spec>& specs() const { return specs_; }
  /// "op=logits rows>=8 ulp=1; op=stop": what a verdict's scope says about
  /// faults; empty without any.
  std::string text() const;

  /// The first fault of `site` whose conditions `row` meets, or nullptr. For
  /// the sites outside of the model: `row` needs the fields that docs/faults.md
  /// names for the site, and `step` if only to be 1.
  const fault_spec* find(fault_site site, const fault_row& row) const;
  bool active(fault_site site, const fault_row& row) const {
    return find(site, row) != nullptr;
  }
  /// Whether there is a fault of `site` at all.
  bool has(fault_site site) const;

 private:
  std::vector<fault_spec> specs_;
};

}  // namespace vouch::engine
