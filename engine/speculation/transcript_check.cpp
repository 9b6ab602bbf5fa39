#include "engine/speculation/transcript_check.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace vouch::engine {
namespace {

using rule = transcript_rule;

constexpr std::array<std::string_view, 23> rule_names{
    "rounds",       "sequence",         "burst",        "burst_start",
    "verdict",      "round_order",      "first_anchor", "anchor",
    "position",     "sampler_position", "seed",         "rows",
    "width",        "accepted",         "emitted",      "stop_cut",
    "budget_cut",   "context_cut",      "end",          "after_end",
    "cache_before", "cache_after",      "classic"};
static_assert(rule_names.size() == static_cast<std::size_t>(rule::classic) + 1);

std::string expected(const std::string& what, std::int64_t found,
                     std::int64_t right) {
  return what + " is " + std::to_string(found) + ", not " +
         std::to_string(right);
}

/// Where a sequence stands.
struct standing {
  transcript_sequence facts;
  std::optional<transcript_burst> burst;
  std::int64_t rounds = 0;
  std::int64_t generated = 0;
  /// Unknown after classic steps.
  std::optional<token_id> last;
  bool ended = false;
  std::size_t end_line = 0;
  /// Its difference from the classic arm was reported.
  bool differs = false;
};

class checker {
 public:
  explicit checker(const classic_texts* classic) : classic_{classic} {}

  void take(const transcript_entry& entry) {
    line_ = entry.line;
    std::visit([this](const auto& record) { check(record); }, entry.record);
  }

  transcript_report finish() {
    line_ = 0;
    if (report_.rounds == 0) {
      at_ = {};
      fail(rule::rounds, "there are no rounds");
    }
    if (classic_ != nullptr) {
      for (auto& [name, state] : states_) check_whole(name, state);
    }
    return std::move(report_);
  }

 private:
  void fail(rule broken, std::string detail, std::int64_t row = -1) {
    auto failure = at_;
    failure.rule = broken;
    failure.line = line_;
    failure.row = row;
    failure.detail = std::move(detail);
    report_.failures.push_back(std::move(failure));
  }
  void equal(rule which, const std::string& what, std::int64_t found,
             std::int64_t right) {
    if (found != right) fail(which, expected(what, found, right));
  }

  void check(const transcript_sequence& facts) {
    at_ = {.name = facts.name};
    ++report_.sequences;
    standing state;
    state.facts = facts;
    state.last = facts.last_token;
    if (!states_.emplace(facts.name, std::move(state)).second) {
      fail(rule::sequence, "the sequence is described twice");
    }
  }

  standing* find(const sequence_name& name) {
    const auto it = states_.find(name);
    if (it == states_.end()) {
      fail(rule::sequence, "the sequence was not described");
      return nullptr;
    }
    return &it->second;
  }

  void check(const transcript_burst& b) {
    at_ = {.name = b.name, .burst = b.burst};
    ++report_.bursts;
    auto* s = find(b.name);
    if (s == nullptr) return;
    equal(rule::burst, "burst", b.burst, s->burst ? s->burst->burst + 1 : 0);
    if (s->ended) after_end(*s);
    if (b.generated < s->generated) {
      fail(rule::burst_start, "generated is " + std::to_string(b.generated) +
                                  ", and was " + std::to_string(s->generated) +
                                  " before");
    } else if (b.generated == s->generated && s->last &&
               b.last_token != *s->last) {
      // Without classic steps between, the last token is known.
      fail(rule::first_anchor, expected("last_token", b.last_token, *s->last));
    }
    equal(rule::burst_start, "cache", b.cache,
          s->facts.prompt_tokens + b.generated - 1);
    if (b.verdict != "equal" && b.verdict != "allow_inexact") {
      fail(rule::verdict, "a burst under the verdict '" + b.verdict + "'");
    }
    s->burst = b;
    s->rounds = 0;
    s->generated = b.generated;
    s->last = b.last_token;
    compare(*s, b.generated - 1, b.last_token, -1);
  }

  void after_end(const standing& s) {
    fail(rule::after_end,
         "the sequence ended in line " + std::to_string(s.end_line));
  }

  void check(const transcript_round& r) {
    at_ = {.name = r.name, .burst = r.burst, .round = r.round};
    ++report_.rounds;
    report_.drafted += std::ssize(r.drafts);
    report_.emitted += std::ssize(r.emitted);
    report_.accepted +=
        std::min<std::int64_t>(r.accepted, std::ssize(r.emitted));
    auto* s = find(r.name);
    if (s == nullptr) return;
    if (!s->burst || s->burst->burst != r.burst) {
      fail(rule::burst, "the burst was not begun, or is not the last one");
      return;
    }
    check_place(r, *s);
    check_block(r, *s);
    equal(rule::cache_after, "cache_after", r.cache_after,
          r.cache_before + std::ssize(r.emitted));
    for (std::size_t i = 0; i < r.emitted.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      compare(*s, s->generated + row, r.emitted[i], row);
    }
    s->rounds = r.round + 1;
    s->generated += std::ssize(r.emitted);
    if (!r.emitted.empty()) s->last = r.emitted.back();
    if (r.end != round_end::none && !s->ended) {
      s->ended = true;
      s->end_line = line_;
    }
  }

  /// Where the round stands: order, anchor, position, cache, sampler.
  void check_place(const transcript_round& r, const standing& s) {
    if (s.ended) after_end(s);
    equal(rule::round_order, "round", r.round, s.rounds);
    if (r.verdict != s.burst->verdict) {
      fail(rule::verdict, "the verdict is '" + r.verdict +
                              "', and was the burst's '" + s.burst->verdict +
                              "'");
    }
    equal(s.rounds == 0 ? rule::first_anchor : rule::anchor, "anchor", r.anchor,
          s.last.value_or(-1));
    const auto start = s.facts.prompt_tokens + s.generated - 1;
    equal(rule::position, "position", r.position, start);
    equal(rule::cache_before, "cache_before", r.cache_before, start);
    equal(rule::sampler_position, "sampler_position", r.sampler_position,
          start);
    if (r.seed != s.facts.seed) {
      fail(rule::seed, "seed is " + std::to_string(r.seed) + ", not " +
                           std::to_string(s.facts.seed));
    }
  }

  /// What the round did: widths, acceptance, emission.
  void check_block(const transcript_round& r, const standing& s) {
    const auto to_emit = s.facts.budget - s.generated;
    const auto context_left =
        s.facts.context - (s.facts.prompt_tokens + s.generated - 1);
    if (std::ssize(r.picks) != r.width || std::ssize(r.drafts) != r.width - 1) {
      fail(rule::rows, "width " + std::to_string(r.width) + " with " +
                           std::to_string(r.drafts.size()) + " drafts and " +
                           std::to_string(r.picks.size()) + " picks");
      return;
    }
    if (r.width > 1 && !s.facts.widths.contains(static_cast<int>(r.width))) {
      fail(rule::width, "width " + std::to_string(r.width) + " is not legal");
    } else if (r.width > to_emit + 1 || r.width > context_left) {
      fail(rule::width, "width " + std::to_string(r.width) + " with " +
                            std::to_string(to_emit) + " tokens to emit and " +
                            std::to_string(context_left) + " positions left");
    }
    const auto common =
        std::mismatch(r.drafts.begin(), r.drafts.end(), r.picks.begin());
    const auto accepted = common.first - r.drafts.begin();
    equal(rule::accepted, "accepted", r.accepted, accepted);

    // What the block gives before it is cut.
    std::vector<token_id> run(r.drafts.begin(), common.first);
    const bool failed = *common.second < 0;
    if (!failed) run.push_back(*common.second);
    const auto size = std::ssize(r.emitted);
    if (size > std::ssize(run) ||
        !std::equal(r.emitted.begin(), r.emitted.end(), run.begin())) {
      fail(rule::emitted,
           "emitted is not drafts[0 ... accepted) and "
           "picks[accepted]");
      return;
    }
    check_cut(r, s, std::ssize(run), failed, to_emit, context_left);
  }

  void check_cut(const transcript_round& r, const standing& s, std::int64_t run,
                 bool failed, std::int64_t to_emit, std::int64_t context_left) {
    const auto size = std::ssize(r.emitted);
    const auto& stops = s.facts.stop_tokens;
    const auto stop = std::find_first_of(r.emitted.begin(), r.emitted.end(),
                                         stops.begin(), stops.end());
    const bool stopped = stop != r.emitted.end();
    if (stopped && stop + 1 != r.emitted.end()) {
      fail(rule::stop_cut,
           "tokens are emitted after the stop token " + std::to_string(*stop));
      return;
    }
    if (size > to_emit) {
      fail(rule::budget_cut, std::to_string(size) + " tokens emitted, " +
                                 std::to_string(to_emit) + " were left");
      return;
    }
    if (size > context_left) {
      fail(rule::context_cut, std::to_string(size) + " tokens emitted, " +
                                  std::to_string(context_left) +
                                  " positions were left");
      return;
    }
    auto end = round_end::none;
    if (stopped) {
      end = round_end::stop_token;
    } else if (r.end == round_end::stop_string && size > 0) {
      // The text is not at hand; it may have ended anywhere.
      end = round_end::stop_string;
    } else if (size == to_emit) {
      end = round_end::budget;
    } else if (size == context_left) {
      end = round_end::context;
    } else if (size < run) {
      fail(rule::emitted, "nothing cuts emitted after " + std::to_string(size) +
                              " of " + std::to_string(run) + " tokens");
      return;
    } else if (failed) {
      end = round_end::failed;
    }
    if (r.end != end) {
      fail(rule::end, "end is '" + std::string{name_of(r.end)} + "', not '" +
                          std::string{name_of(end)} + "'");
    }
  }

  /// The generated token number `index` against the classic arm's.
  void compare(standing& s, std::int64_t index, token_id token,
               std::int64_t row) {
    if (classic_ == nullptr || s.differs || index < 0) return;
    const auto it = classic_->find(s.facts.name);
    if (it == classic_->end()) return;
    const auto& text = it->second;
    const auto& stops = s.facts.stop_tokens;
    if (index == std::ssize(text) &&
        std::find(stops.begin(), stops.end(), token) != stops.end()) {
      return;  // An arm may leave out the stop token that ended it.
    }
    ++report_.compared;
    const bool there = index < std::ssize(text);
    if (there && text[static_cast<std::size_t>(index)] == token) return;
    s.differs = true;
    fail(rule::classic,
         "generated token " + std::to_string(index) + " is " +
             std::to_string(token) + ", the classic arm " +
             (there ? "has " +
                          std::to_string(text[static_cast<std::size_t>(index)])
                    : "ends before it") +
             (row < 0 ? " (before the burst)" : ""),
         row);
  }

  void check_whole(const sequence_name& name, const standing& s) {
    at_ = {.name = name};
    const auto it = classic_->find(name);
    if (it == classic_->end()) {
      fail(rule::classic, "the classic arm lacks the sequence");
    } else if (s.ended && !s.differs && s.generated < std::ssize(it->second)) {
      fail(rule::classic, "the text ends after " + std::to_string(s.generated) +
                              " tokens, the "
                              "classic arm's after " +
                              std::to_string(it->second.size()));
    }
  }

  const classic_texts* classic_;
  std::map<sequence_name, standing> states_;
  transcript_report report_;
  /// What the record at hand is about.
  transcript_failure at_;
  std::size_t line_ = 0;
};

}  // namespace

std::string_view name_of(transcript_rule broken) {
  return rule_names.at(static_cast<std::size_t>(broken));
}

transcript_report check_transcript(std::span<const transcript_entry> entries,
                                   const classic_texts* classic) {
  checker check{classic};
  for (const auto& entry : entries) check.take(entry);
  return check.finish();
}

}  // namespace vouch::engine
