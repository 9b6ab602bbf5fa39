#include <random>

#include "engine/bisect/bisect_case.hpp"
#include "engine/error.hpp"

namespace vouch::engine {
namespace {

constexpr token_id unknown = -1;

class transcript_case {
 public:
  transcript_case(const std::string& file, const sequence_name& name,
                  const bisect_sources& sources)
      : file_{file}, name_{name}, sources_{sources} {
    out_.what = file + ", request '" + name.request + "', choice " +
                std::to_string(name.choice);
    out_.chunk = sources.chunk;
    out_.sequences.resize(1);
    out_.sequences[0].name = "request '" + name.request + "'";
  }

  bisect_case make(std::span<const transcript_entry> entries) {
    for (const auto& entry : entries) {
      if (const auto* s = std::get_if<transcript_sequence>(&entry.record)) {
        if (s->name == name_) begin(*s);
      } else if (const auto* r = std::get_if<transcript_round>(&entry.record)) {
        if (r->name == name_) add(*r, entry.line);
      }
    }
    if (!begun_) throw input_error(file_, "has no such sequence: " + out_.what);
    if (out_.steps.empty()) {
      throw input_error(file_, "has no round of " + out_.what);
    }
    fill();
    return std::move(out_);
  }

 private:
  void begin(const transcript_sequence& s) {
    begun_ = true;
    auto& own = out_.sequences[0];
    own.prompt = s.prompt_tokens;
    own.sampling.temperature = 0.0F;
    own.sampling.seed = s.seed;
    own.sampling.vocab_limit = sources_.vocabulary;
    if (sources_.text) own.tokens = sources_.text(name_);
    if (own.tokens.empty()) {
      out_.notes.emplace_back(
          "a transcript does not hold the prompt: random tokens stand for it "
          "(--text gives the real ones)");
    }
    expect(s.prompt_tokens - 1, s.last_token, 1);
    end_ = s.prompt_tokens - 1;
  }

  /// The sequence has this token there.
  void expect(std::int64_t position, token_id token, std::size_t line) {
    if (position < 0) throw input_error(file_, "a position is below 0");
    auto& tokens = out_.sequences[0].tokens;
    const auto at = static_cast<std::size_t>(position);
    if (tokens.size() <= at) tokens.resize(at + 1, unknown);
    if (tokens[at] != unknown && tokens[at] != token) {
      throw input_error(file_, "line " + std::to_string(line) +
                                   ": another token stands at position " +
                                   std::to_string(position));
    }
    tokens[at] = token;
  }

  void add(const transcript_round& r, std::size_t line) {
    if (!begun_) throw input_error(file_, "a round before its sequence");
    const auto kept = r.cache_after - r.cache_before;
    if (kept < 1 || kept > static_cast<std::int64_t>(r.drafts.size()) + 1) {
      throw input_error(file_, "line " + std::to_string(line) +
                                   ": keeps rows that it does not have "
                                   "(vouch transcript check)");
    }
    bisect_item item;
    item.kind = row_kind::verify;
    item.position = r.position;
    item.tokens = {r.anchor};
    item.tokens.insert(item.tokens.end(), r.drafts.begin(), r.drafts.end());
    item.kept = kept;
    for (std::int64_t i = 0; i < kept; ++i) {
      expect(r.position + i, item.tokens[static_cast<std::size_t>(i)], line);
    }
    // Classic steps before it.
    if (!out_.steps.empty()) {
      for (auto p = end_; p < r.position; ++p) add_classic(p);
    }
    out_.steps.push_back({std::move(item)});
    end_ = r.position + kept;
  }

  void add_classic(std::int64_t position) {
    bisect_item item;
    item.position = position;
    out_.steps.push_back({std::move(item)});
  }

  void fill() {
    auto& own = out_.sequences[0];
    std::mt19937_64 random{sources_.seed};
    bool gaps = false;
    for (std::size_t i = 0; i < own.tokens.size(); ++i) {
      if (own.tokens[i] != unknown) continue;
      own.tokens[i] = static_cast<token_id>(
          random() % static_cast<std::uint64_t>(sources_.vocabulary));
      gaps = gaps || static_cast<std::int64_t>(i) >= own.prompt;
    }
    if (gaps) {
      out_.notes.emplace_back(
          "tokens of classic steps between bursts are random ones as well");
    }
    for (auto& items : out_.steps) {
      for (auto& item : items) {
        if (item.tokens.empty()) {
          item.tokens = {own.tokens[static_cast<std::size_t>(item.position)]};
        }
        for (const auto token : item.tokens) check(token);
      }
    }
    for (const auto token : own.tokens) check(token);
  }

  void check(token_id token) const {
    if (token >= 0 && token < sources_.vocabulary) return;
    throw input_error(file_, "token " + std::to_string(token) +
                                 " is not in the model's vocabulary of " +
                                 std::to_string(sources_.vocabulary));
  }

  const std::string& file_;
  sequence_name name_;
  const bisect_sources& sources_;
  bisect_case out_;
  bool begun_ = false;
  std::int64_t end_ = 0;
};

}  // namespace

bisect_case case_of_transcript(const std::string& file,
                               std::span<const transcript_entry> entries,
                               const sequence_name& name,
                               const bisect_sources& sources) {
  return transcript_case{file, name, sources}.make(entries);
}

}  // namespace vouch::engine
