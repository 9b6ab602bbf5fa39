#include "engine/faults/fault_injector.hpp"

#include <algorithm>

#include "engine/faults/fault_effects.hpp"

namespace vouch::engine {

fault_injector::fault_injector(std::shared_ptr<const fault_plan> plan)
    : plan_{std::move(plan)} {
  for (const auto& spec : plan_->specs()) {
    switch (spec.site) {
      case fault_site::model:
        planted_.push_back({&spec, spec.op, spec.effect, {}});
        break;
      case fault_site::rollback:
        planted_.push_back(
            {&spec, model_op::kv_write, fault_effect::stale, {}});
        break;
      case fault_site::width:
        planted_.push_back({&spec, model_op::logits, fault_effect::ulp, {}});
        break;
      default:
        break;  // lies outside of the forward pass
    }
  }
}

bool fault_injector::planted::covers(const op_output& made) const {
  return op == made.op() &&
         (!in_layers(op) || spec->range(fault_key::layer).holds(made.layer()));
}

void fault_injector::begin_step(std::span<const fault_row> rows) {
  ++steps_;
  rows_.assign(rows.begin(), rows.end());
  for (auto& row : rows_) {
    row.step = steps_;
  }
  faulted_.assign(rows_.size(), 0);
  for (auto& fault : planted_) {
    fault.rows.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (fault.spec->matches(rows_[i])) {
        fault.rows.resize(rows_.size());
        fault.rows[i] = 1;
      }
    }
  }
}

bool fault_injector::hits(fault_site site, std::int64_t row) {
  const auto index = static_cast<std::size_t>(row);
  if (!plan_->active(site, rows_[index])) return false;
  faulted_[index] = 1;
  return true;
}

std::int64_t fault_injector::faulted_rows() const {
  return std::count(faulted_.begin(), faulted_.end(), 1);
}

fault_injector::bytes fault_injector::read(const op_output& made,
                                           std::int64_t index) const {
  bytes row(made.row_bytes());
  made.read(index, row.data());
  return row;
}

void fault_injector::before_kv_write(const op_output& standing) {
  standing_.assign(rows_.size(), {});
  for (const auto& fault : planted_) {
    if (fault.effect != fault_effect::stale || fault.rows.empty() ||
        !fault.covers(standing)) {
      continue;
    }
    for (std::int64_t i = 0; i < standing.rows(); ++i) {
      if (fault.rows[static_cast<std::size_t>(i)] == 0) continue;
      auto row = read(standing, i);
      // Memory that nobody has written yet is 0.
      if (std::any_of(row.begin(), row.end(),
                      [](std::byte b) { return b != std::byte{0}; })) {
        standing_[static_cast<std::size_t>(i)] = std::move(row);
      }
    }
  }
}

void fault_injector::after(const op_output& made) {
  bool remembers = false;
  for (const auto& fault : planted_) {
    if (!fault.covers(made)) continue;
    if (!fault.rows.empty()) change_rows(fault, made);
    remembers = remembers || (fault.effect == fault_effect::stale &&
                              fault.op != model_op::kv_write);
  }
  if (remembers) remember(made);
}

void fault_injector::change_rows(const planted& fault, const op_output& made) {
  for (std::int64_t i = 0; i < made.rows(); ++i) {
    if (fault.rows[static_cast<std::size_t>(made.step_row(i))] == 0) continue;
    if (fault.effect == fault_effect::swap) {
      exchange(made, i);
      ++i;  // the row behind it has been changed as well
    } else if (fault.effect == fault_effect::stale) {
      make_stale(made, i);
    } else {
      change_row(fault, made, i);
    }
  }
}

void fault_injector::change_row(const planted& fault, const op_output& made,
                                std::int64_t index) {
  const auto old = read(made, index);
  auto row = old;
  if (fault.effect == fault_effect::ulp) {
    add_ulps(row, made.format(), fault.spec->ulps, fault.spec->element);
  } else if (fault.effect == fault_effect::zero) {
    fill_zero(row);
  } else {
    fill_nan(row, made.format());
  }
  if (row == old) return;
  made.write(index, row.data());
  faulted_[static_cast<std::size_t>(made.step_row(index))] = 1;
}

void fault_injector::exchange(const op_output& made, std::int64_t index) {
  if (index + 1 >= made.rows()) return;
  const auto row = read(made, index);
  const auto next = read(made, index + 1);
  if (row == next) return;
  made.write(index, next.data());
  made.write(index + 1, row.data());
  faulted_[static_cast<std::size_t>(made.step_row(index))] = 1;
  faulted_[static_cast<std::size_t>(made.step_row(index + 1))] = 1;
}

void fault_injector::make_stale(const op_output& made, std::int64_t index) {
  const std::byte* stale = nullptr;
  if (made.op() == model_op::kv_write) {
    const auto& standing = standing_[static_cast<std::size_t>(index)];
    if (!standing.empty()) stale = standing.data();
  } else {
    const auto& left = before_[{made.op(), made.layer()}];
    const auto at = static_cast<std::size_t>(index) * made.row_bytes();
    if (at < left.size()) stale = left.data() + at;
  }
  if (stale == nullptr) return;
  const auto row = read(made, index);
  if (std::equal(row.begin(), row.end(), stale)) return;
  made.write(index, stale);
  faulted_[static_cast<std::size_t>(made.step_row(index))] = 1;
}

void fault_injector::remember(const op_output& made) {
  auto& left = before_[{made.op(), made.layer()}];
  const auto rows = static_cast<std::size_t>(made.rows());
  left.resize(rows * made.row_bytes());
  for (std::size_t i = 0; i < rows; ++i) {
    made.read(static_cast<std::int64_t>(i), left.data() + i * made.row_bytes());
  }
}

}  // namespace vouch::engine
