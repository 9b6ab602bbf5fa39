#include "cli/compare/judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <openssl/evp.h>
#include <stdexcept>

namespace vouch::cli::compare {
namespace {

bool same_token(const answer_token& a, const answer_token& b) {
  return a.id == b.id && a.text == b.text;
}

/// Neighbouring numbers of float32.
bool one_step(float a, float b) {
  constexpr float far = std::numeric_limits<float>::infinity();
  return std::nextafter(a, far) == b || std::nextafter(a, -far) == b;
}

bool same_number(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string word_of(const answer& of, std::size_t at) {
  if (at >= of.tokens.size()) return "its end (" + of.finish + ")";
  const auto& token = of.tokens[at];
  auto text = "\"" + token.text + "\"";
  if (token.id >= 0) text += " (" + std::to_string(token.id) + ")";
  return text;
}

void compare_rows(const answer& classic, const answer& tried, std::size_t count,
                  difference& found, verdict& into) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto& a = classic.tokens[i];
    const auto& b = tried.tokens[i];
    if (same_number(a.logprob, b.logprob)) {
      ++into.logprobs_equal;
    } else {
      one_step(a.logprob, b.logprob) ? ++into.logprobs_one_step
                                     : ++into.logprobs_further;
      if (found.row < 0) found.row = static_cast<std::int64_t>(i);
    }
    if (!a.logits || !b.logits) continue;
    ++into.rows;
    if (*a.logits == *b.logits) continue;
    ++into.rows_differ;
    if (found.row < 0) found.row = static_cast<std::int64_t>(i);
  }
}

void compare_answers(const answer& classic, const answer& tried,
                     std::size_t prompt, verdict& into) {
  const auto where = "prompt " + std::to_string(prompt + 1) + ": ";
  if (classic.text.empty() || tried.text.empty()) {
    into.failures.push_back(where + "the text is empty");
    return;
  }
  difference found;
  found.prompt = prompt;
  const auto [a, b] =
      std::mismatch(classic.tokens.begin(), classic.tokens.end(),
                    tried.tokens.begin(), tried.tokens.end(), same_token);
  const auto equal = static_cast<std::size_t>(a - classic.tokens.begin());
  compare_rows(classic, tried, equal, found, into);
  const bool ended = a == classic.tokens.end() && b == tried.tokens.end();
  if (!ended || classic.finish != tried.finish || classic.text != tried.text) {
    found.token = static_cast<std::int64_t>(equal);
    found.classic = word_of(classic, equal);
    found.here = word_of(tried, equal);
    into.failures.push_back(where + "token " + std::to_string(equal) + " is " +
                            found.here + ", the classic arm has " +
                            found.classic);
  } else {
    ++into.equal_texts;
  }
  if (found.row >= 0) {
    into.failures.push_back(where + "the logits of token " +
                            std::to_string(found.row) + " differ");
  }
  if (found.token >= 0 || found.row >= 0) {
    into.differences.push_back(std::move(found));
  }
}

std::string reasons_of(const arm& of) {
  std::string text;
  for (const auto& [reason, count] : of.declines) {
    text += (text.empty() ? " (" : ", ") + reason + " " + std::to_string(count);
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

verdict judge(const arm& classic, const arm& tried, bool bytes) {
  verdict made;
  made.name = tried.name;
  made.run = tried.run;
  made.classic = tried.classic;
  if (!tried.error.empty()) {
    made.failures.push_back(tried.error);
    return made;
  }
  made.answers = std::ssize(tried.answers);
  made.sha256 = sha256_of(tried);
  if (tried.answers.empty() || tried.answers.size() != classic.answers.size()) {
    made.failures.emplace_back("not every prompt was answered");
    return made;
  }
  for (std::size_t i = 0; i < tried.answers.size(); ++i) {
    compare_answers(classic.answers[i], tried.answers[i], i, made);
  }
  if (!tried.classic && tried.rounds.rounds == 0) {
    made.failures.push_back("nothing was verified" + reasons_of(tried));
  }
  if (tried.classic && tried.rounds.rounds > 0) {
    made.failures.emplace_back("blocks were verified in a classic arm");
  }
  if (bytes && made.rows == 0) {
    made.failures.emplace_back("no row of logits was compared");
  }
  return made;
}

std::string sha256_of(const arm& of) {
  std::string all;
  for (const auto& each : of.answers) {
    all += std::to_string(each.text.size()) + ":" + each.text;
  }
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_Digest(all.data(), all.size(), digest.data(), &size, EVP_sha256(),
                 nullptr) != 1) {
    throw std::runtime_error{"sha256 is not available"};
  }
  std::string text;
  for (const auto byte : digest) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace vouch::cli::compare
