#include "tests/parity/arm.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/speculation/lookup_drafter.hpp"
#include "engine/speculation/scripted_drafter.hpp"

namespace vouch::test {
namespace {

engine::script script_of(drafting how) {
  switch (how) {
    case drafting::right:
      return engine::script::right;
    case drafting::wrong:
      return engine::script::wrong;
    case drafting::random:
      return engine::script::random;
    case drafting::probable:
      return engine::script::probable;
    case drafting::alternating:
      return engine::script::alternating;
    case drafting::lookup:
      break;
  }
  throw std::logic_error{"prompt lookup follows no script"};
}

/// The index of the first element that differs; -1: none does.
template <class T>
std::int64_t first_difference(const std::vector<T>& a,
                              const std::vector<T>& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return x == a.end() && y == b.end() ? -1 : x - a.begin();
}

}  // namespace

std::string_view name_of(drafting how) {
  switch (how) {
    case drafting::right:
      return "right";
    case drafting::wrong:
      return "wrong";
    case drafting::random:
      return "random";
    case drafting::probable:
      return "probable";
    case drafting::alternating:
      return "alternating";
    case drafting::lookup:
      return "lookup";
  }
  return "?";
}

std::unique_ptr<engine::sequence_drafter> open_drafter(
    drafting how, std::vector<engine::token_id> text,
    engine::token_id vocabulary, std::uint64_t seed) {
  if (how == drafting::lookup) {
    return engine::lookup_drafter{engine::lookup_options{}}.open();
  }
  engine::scripted_options options;
  options.mode = script_of(how);
  options.probabilities = {0.8};
  options.seed = seed;
  options.vocabulary = vocabulary;
  options.oracle = engine::oracle_of_texts({std::move(text)});
  const auto made = engine::scripted_drafter::make(std::move(options));
  return made.loaded->open();
}

parity_arm::parity_arm(drafting how, int width, bool alone)
    : how_{how},
      name_{std::string{name_of(how)} + ", width " + std::to_string(width) +
            (alone ? ", alone" : ", among others")} {}

void parity_arm::fail(const std::string& prompt, const std::string& what) {
  failures_.push_back(name_ + ": " + prompt + ": " + what);
}

void parity_arm::take(const std::string& prompt, const parity_text& classic,
                      const parity_text& burst) {
  ++texts_;
  rounds_ += burst.rounds;
  wide_rounds_ += burst.wide_rounds;
  drafted_ += burst.drafted;
  accepted_ += burst.accepted;
  rows_ += std::ssize(burst.logits);
  kv_rows_ += std::ssize(burst.kv);
  if (classic.tokens.empty() || burst.tokens.empty()) {
    return fail(prompt, "the text is empty");
  }
  if (classic.logits.size() != classic.tokens.size() ||
      classic.kv.size() < classic.tokens.size()) {
    return fail(prompt, "the classic text has no hashes");
  }
  const auto differ = [&](const char* what, std::int64_t at) {
    if (at < 0) return false;
    ++differing_;
    fail(prompt, std::string{what} + " " + std::to_string(at) + " differs");
    return true;
  };
  if (differ("generated token", first_difference(classic.tokens, burst.tokens)))
    return;
  if (differ("logits row of token",
             first_difference(classic.logits, burst.logits)))
    return;
  if (differ("K or V of position", first_difference(classic.kv, burst.kv)))
    return;
  if (classic.reason != burst.reason) fail(prompt, "ended for another reason");
}

std::vector<std::string> parity_arm::failures() const {
  auto all = failures_;
  const auto add = [&](bool wrong, const char* what) {
    if (wrong) all.push_back(name_ + ": " + what);
  };
  add(texts_ == 0, "nothing ran");
  add(rounds_ == 0, "no round was verified");
  add(wide_rounds_ == 0, "no round of its width was verified");
  // Whether a looked-up draft is right is the text's affair.
  const bool accepts = how_ == drafting::right || how_ == drafting::probable ||
                       how_ == drafting::alternating;
  add(accepts && accepted_ == 0, "no draft was accepted");
  add(how_ == drafting::wrong && accepted_ > 0, "a wrong draft was accepted");
  const bool rejects = how_ != drafting::right && how_ != drafting::lookup;
  add(rejects && accepted_ == drafted_, "no draft was rejected");
  return all;
}

std::string parity_arm::summary() const {
  return name_ + ": " + std::to_string(texts_) + " texts, " +
         std::to_string(rows_) + " logits rows, " + std::to_string(kv_rows_) +
         " KV rows, " + std::to_string(rounds_) + " rounds, " +
         std::to_string(accepted_) + " of " + std::to_string(drafted_) +
         " drafts accepted, " + std::to_string(differing_) + " differ";
}

}  // namespace vouch::test
