#include "engine/gate/probe.hpp"

#include <algorithm>
#include <utility>

namespace vouch::engine {
namespace {

std::string label(int key) {
  if (key == key_alone) return "alone";
  if (key == key_batch) return "batch";
  return std::to_string(key);
}

std::string labels(const std::vector<int>& keys) {
  std::string text;
  for (const int key : keys) {
    if (!text.empty()) text += ' ';
    text += label(key);
  }
  return text;
}

std::string patterns_of(const scenario& played) {
  std::set<draft_pattern> seen;
  std::string text;
  for (const auto& each : played.sequences) {
    if (!seen.insert(each.pattern).second) continue;
    if (!text.empty()) text += ' ';
    text += name_of(each.pattern);
  }
  return text;
}

/// As probe_task::covers names them.
verdict& of_key(verdict_table& table, int key) {
  if (key == key_alone) return table.alone;
  if (key == key_batch) return table.batch;
  return table.widths[key];
}
const verdict& of_key(const verdict_table& table, int key) {
  if (key == key_alone) return table.alone;
  return key == key_batch ? table.batch : table.widths.at(key);
}

divergence divergence_of(const row_mismatch& at, const scenario& played) {
  divergence made;
  made.position = at.position;
  made.row = at.row;
  made.where = at.what + ": " + played.name;
  if (at.kind == row_kind::verify) {
    made.where += ", width " + std::to_string(at.width);
  }
  const auto& each = played.sequences[at.sequence];
  made.where += ", drafts ";
  made.where += name_of(each.pattern);
  return made;
}

}  // namespace

probe::probe(probe_options options)
    : options_{std::move(options)},
      plan_{plan_probe(options_)},
      random_{options_.seed} {
  verdicts_ = options_.known;
  const auto unknown = [](verdict& each) {
    // A trip is not for the probe to judge; anything else is measured anew.
    if (each.equal() || each.tripped()) return;
    each = {};
    each.reason = "not probed yet";
  };
  unknown(verdicts_.alone);
  unknown(verdicts_.batch);
  for (const int width : options_.widths) unknown(verdicts_.widths[width]);
  pass_stages();
}

/// It holds as far as this stage would show.
bool probe::vouched(int key) const {
  const auto& each = of_key(verdicts_, key);
  if (each.source != verdict_source::stored || !each.equal()) return false;
  // At the end of the context only tails are left, and one sequence a step is
  // not walked to the end.
  constexpr std::int64_t tails = 2 * max_round_width + 4;
  return key == key_alone ||
         each.positions + tails >= plan_.stages[stage_].positions;
}

/// Leaves out stages in which there is nothing to measure.
void probe::pass_stages() {
  while (stage_ < plan_.stages.size() && !random_left()) {
    const auto& tasks = plan_.stages[stage_].tasks;
    if (std::any_of(tasks.begin(), tasks.end(), [this](const auto& each) {
          return !each.builds && !skipped(each);
        })) {
      return;
    }
    ++stage_;
  }
}

std::optional<gate_need> probe::need() const {
  if (holding_ || stage_ >= plan_.stages.size()) return std::nullopt;
  return plan_.stages[stage_].need;
}

void probe::lend(loan lent) {
  map_ = loan_map{std::move(lent)};
  holding_ = true;
}

std::optional<loan> probe::give_back() { return std::exchange(spare_, {}); }

void probe::withdraw() {
  if (!holding_) return;
  withdrawn_ = true;
  if (!out_) releasing_ = true;
}

bool probe::skipped(const probe_task& each) const {
  if (each.builds) return false;
  if (verdicts_.alone.wrong() && !options_.measure_all) return true;
  for (const int key : each.covers) {
    if (vouched(key) || of_key(verdicts_, key).wrong()) continue;
    if (key <= key_batch || options_.measure_all) return false;
    if (!verdicts_.batch.wrong()) return false;
  }
  return true;
}

bool probe::random_left() const {
  return stage_ == 0 && total_.rows < options_.random_rows &&
         (options_.measure_all || verdicts_.lowest_allowed() <= rung::batched);
}

void probe::begin_task() {
  auto& tasks = plan_.stages[stage_].tasks;
  while (task_ < tasks.size() && skipped(tasks[task_])) ++task_;
  if (task_ == tasks.size() && random_left()) {
    tasks.push_back(draw_task(random_, options_, plan_));
  }
  if (task_ == tasks.size()) return next_stage();
  auto& now = tasks[task_];
  for (auto& each : now.played.sequences) {
    find_stop(each, plan_.texts[each.text]);
  }
  if (now.builds) {
    for (const auto& each : now.played.sequences) {
      auto& text = plan_.texts[each.text];
      text.tokens.resize(static_cast<std::size_t>(text.prompt));
      text.logits.clear();
      text.kv.clear();
    }
  }
  first_.reset();
  broken_.clear();
  task_seconds_ = 0.0;
  run_.emplace(now.played, plan_.texts, options_.setup, map_, now.builds);
  compare_.emplace(now.played, plan_.texts);
}

void probe::next_stage() {
  spare_ = map_.lent();
  holding_ = false;
  progress_.clear();
  task_ = 0;
  // Without anything to raise, a later stage is no use.
  const bool any = verdicts_.alone.equal() || verdicts_.batch.equal() ||
                   options_.measure_all;
  stage_ = any ? stage_ + 1 : plan_.stages.size();
  pass_stages();
}

std::optional<gate_unit> probe::next() {
  if (out_ || !holding_) return std::nullopt;
  if (!releasing_ && detail_ == detail::none && !run_) begin_task();
  if (!holding_) return std::nullopt;
  std::optional<gate_unit> unit;
  if (releasing_) {
    unit.emplace();
    unit->work.released = map_.lent().slots;
  } else if (detail_ != detail::none) {
    unit = next_detail();
  } else {
    unit = run_->next();
  }
  out_ = unit.has_value();
  return unit;
}

void probe::take(const gate_unit_result& result, std::int64_t now_ms) {
  out_ = false;
  seconds_ += result.step.seconds + result.drafts.seconds;
  task_seconds_ += result.step.seconds;
  if (releasing_) {
    releasing_ = false;
    detail_ = detail::none;
    if (first_ || !broken_.empty()) end_task(now_ms);
    run_.reset();
    if (withdrawn_) {
      withdrawn_ = false;
      holding_ = false;
      spare_ = map_.lent();
    }
    return;
  }
  if (detail_ != detail::none) {
    take_detail(result);
  } else {
    const auto step = run_->take(result);
    if (task().builds) {
      const auto why = take_classic(step, task().played, plan_.texts);
      if (!why.empty()) {
        for (auto* each : {&verdicts_.alone, &verdicts_.batch}) {
          each->reason = "the classic arm failed: " + why;
        }
        for (auto& [width, each] : verdicts_.widths) {
          each.reason = verdicts_.batch.reason;
        }
        options_.random_rows = 0;
        stage_ = plan_.stages.size() - 1;
        plan_.stages[stage_].tasks.clear();
        task_ = 0;
        releasing_ = true;
        return;
      }
    } else if (step.failed && step.failed->broken) {
      broken_ = step.failed->what;
      releasing_ = true;
    } else if (const auto at = compare_->see(step); at && !first_) {
      differs(*at, now_ms);
    }
    if (!first_ && broken_.empty() && run_->done()) {
      end_task(now_ms);
      run_.reset();
    }
  }
  if (withdrawn_) releasing_ = true;
}

int probe::key_of(const row_mismatch& at) const {
  const auto& covers = task().covers;
  if (covers.size() == 1) return covers.front();
  int width = at.kind == row_kind::verify ? at.width : key_batch;
  if (std::find(covers.begin(), covers.end(), width) == covers.end()) {
    width = task().played.sequences[at.sequence].width;
  }
  return width > 1 ? width : key_batch;
}

void probe::differs(const row_mismatch& at, std::int64_t now_ms) {
  first_ = at;
  auto& verdict = of_key(verdicts_, key_of(at));
  verdict.state = verdict_state::diverges;
  verdict.reason.clear();
  verdict.first = divergence_of(at, task().played);
  verdict.when_ms = now_ms;
  verdict.source = verdict_source::measured;
  begin_detail(at);
}

std::string probe::nothing_shown(
    const probe_task& of, const arm_run& run,
    const std::map<int, row_tally>& tallies) const {
  const auto& played = of.played;
  if (!broken_.empty()) return broken_ + ": " + played.name;
  if (played.wants_preemption && run.stats().preemptions == 0) {
    return "no sequence was preempted: " + played.name;
  }
  if (played.wants_cache_hit && run.cache_hits() == 0) {
    return "no prefix came from the cache: " + played.name;
  }
  std::int64_t rows = 0;
  for (const auto& [width, each] : tallies) rows += each.rows;
  if (rows == 0) return "no row was compared: " + played.name;
  return {};
}

void probe::end_task(std::int64_t now_ms) {
  const probe_task done = task();
  probe_line line;
  line.covers = labels(done.covers);
  line.scenario = done.played.name;
  line.patterns = patterns_of(done.played);
  line.sequences = static_cast<std::int64_t>(done.played.sequences.size());
  line.preemptions = static_cast<std::int64_t>(run_->stats().preemptions);
  line.cache_hits = run_->cache_hits();
  line.seconds = task_seconds_;
  for (const auto& [width, each] : compare_->tallies()) line.tally.add(each);
  total_.add(line.tally);
  for (const auto& [pattern, each] : compare_->by_pattern()) {
    by_pattern_[pattern].add(each);
  }
  if (first_) {
    const int key = key_of(*first_);
    line.first = of_key(verdicts_, key).first;
    // What else the task covers is tried again without what differs.
    auto& now = plan_.stages[stage_].tasks[task_];
    std::erase(now.covers, key);
    auto& members = now.played.sequences;
    const bool again = key > key_batch && !now.covers.empty() && stage_ > 0;
    if (again) {
      std::erase_if(members,
                    [&](const auto& each) { return each.width == key; });
      now.played.widths.erase(key);
      for (std::size_t i = 1; i < members.size(); ++i) {
        if (members[i].after > 0) members[i].after = static_cast<int>(i) - 1;
      }
    } else {
      ++task_;
    }
  } else if (!done.builds) {
    line.showed_nothing = nothing_shown(done, *run_, compare_->tallies());
    auto& now = plan_.stages[stage_].tasks[task_].played;
    const bool wanting = broken_.empty() && now.wants_preemption &&
                         line.preemptions == 0 && now.send_back == 0;
    if (wanting) {
      // Sequences shared more, or ended sooner, than was foreseen: fewer
      // blocks, and when that is no help, they are sent back by hand.
      if (now.blocks > now.least_blocks) {
        now.blocks = std::max(now.least_blocks, now.blocks * 3 / 4);
      } else {
        now.send_back = 4;
      }
      return;
    }
    for (const int key : done.covers) {
      auto& so_far = progress_[key];
      const auto found = compare_->tallies().find(key > key_batch ? key : 1);
      if (found != compare_->tallies().end()) so_far.tally.add(found->second);
      if (so_far.showed_nothing.empty()) {
        so_far.showed_nothing = line.showed_nothing;
      }
    }
    ++task_;
    close_keys(now_ms);
  } else {
    ++task_;
  }
  lines_.push_back(std::move(line));
}

/// What no task of this stage says anything about any more gets its verdict.
void probe::close_keys(std::int64_t now_ms) {
  const auto& stage = plan_.stages[stage_];
  const auto more = [&](int key) {
    for (auto i = task_; i < stage.tasks.size(); ++i) {
      const auto& covers = stage.tasks[i].covers;
      if (std::find(covers.begin(), covers.end(), key) != covers.end()) {
        return true;
      }
    }
    return false;
  };
  std::vector<int> closed;
  for (const auto& [key, so_far] : progress_) {
    if (more(key)) continue;
    closed.push_back(key);
    auto& verdict = of_key(verdicts_, key);
    if (verdict.wrong()) continue;
    std::string why = so_far.showed_nothing;
    const auto& tally = so_far.tally;
    if (why.empty() && tally.rows == 0) why = "no row was compared";
    if (why.empty() && key > key_batch && stage_ == 0) {
      if (tally.rounds == 0) why = "no block was verified";
      if (why.empty() && tally.accepted == 0) why = "no draft was accepted";
      if (why.empty() && tally.rejected == 0) why = "no draft was rejected";
    }
    if (!why.empty()) {
      if (!verdict.equal()) verdict.reason = why;
      continue;
    }
    verdict.state = verdict_state::equal;
    verdict.reason.clear();
    verdict.rows += tally.rows;
    verdict.kv_rows += tally.kv_rows;
    verdict.positions =
        std::max(verdict.positions, std::min(stage.positions, tally.positions));
    verdict.when_ms = now_ms;
    verdict.source = verdict_source::measured;
  }
  for (const int key : closed) progress_.erase(key);
}

}  // namespace vouch::engine
