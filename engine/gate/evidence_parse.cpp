// Evidence of a trip, read back.
#include <charconv>
#include <utility>

#include <boost/json.hpp>

#include "engine/error.hpp"
#include "engine/gate/evidence.hpp"

namespace vouch::engine {
namespace {

namespace json = boost::json;

/// A value and where it stands, for errors.
class node {
 public:
  node(const std::string& file, std::string path, const json::value& value)
      : file_{&file}, path_{std::move(path)}, value_{&value} {}

  node operator[](const char* key) const {
    const auto* found =
        value_->is_object() ? value_->as_object().if_contains(key) : nullptr;
    const auto path = path_.empty() ? std::string{key} : path_ + "." + key;
    if (found == nullptr) throw input_error(*file_, path + " is missing");
    return {*file_, path, *found};
  }
  template <class Each>
  void each(Each visit) const {
    if (!value_->is_array()) fail("is no array");
    std::size_t i = 0;
    for (const auto& item : value_->as_array()) {
      visit(node{*file_, path_ + "[" + std::to_string(i++) + "]", item});
    }
  }
  template <class Number>
  Number number() const {
    boost::system::error_code error;
    if constexpr (std::is_floating_point_v<Number>) {
      const auto made = value_->to_number<double>(error);
      if (error) fail("is no number");
      return static_cast<Number>(made);
    } else {
      const auto made = value_->to_number<Number>(error);
      if (error) fail("is no number, or out of its range");
      return made;
    }
  }
  bool flag() const {
    if (!value_->is_bool()) fail("is neither true nor false");
    return value_->as_bool();
  }
  std::string text() const {
    if (!value_->is_string()) fail("is no string");
    return std::string{value_->as_string()};
  }
  std::uint64_t hash() const {
    const auto digits = text();
    std::uint64_t made = 0;
    const auto* last = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), last, made, 16);
    if (digits.size() != 16 || read.ec != std::errc{} || read.ptr != last) {
      fail("is no hash of 16 hex digits");
    }
    return made;
  }
  template <class Number>
  std::vector<Number> numbers() const {
    std::vector<Number> all;
    each([&](const node& one) { all.push_back(one.number<Number>()); });
    return all;
  }
  std::vector<std::uint64_t> hashes() const {
    std::vector<std::uint64_t> all;
    each([&](const node& one) { all.push_back(one.hash()); });
    return all;
  }
  template <class Enum>
  Enum one_of(int count) const {
    const int made = number<int>();
    if (made < 0 || made >= count) fail("is unknown");
    return static_cast<Enum>(made);
  }
  const json::value& value() const { return *value_; }
  [[noreturn]] void fail(const char* what) const {
    throw input_error(*file_, path_ + " " + what);
  }

 private:
  const std::string* file_;
  std::string path_;
  const json::value* value_;
};

sampling_params sampling_of(const node& from) {
  sampling_params p;
  p.temperature = from["temperature"].number<float>();
  p.top_k = from["top_k"].number<int>();
  p.top_p = from["top_p"].number<float>();
  p.min_p = from["min_p"].number<float>();
  p.presence_penalty = from["presence_penalty"].number<float>();
  p.frequency_penalty = from["frequency_penalty"].number<float>();
  p.repetition_penalty = from["repetition_penalty"].number<float>();
  from["logit_bias"].each([&](const node& pair) {
    const auto both = pair.numbers<double>();
    if (both.size() != 2) pair.fail("is no pair");
    p.logit_bias.emplace_back(static_cast<token_id>(both[0]),
                              static_cast<float>(both[1]));
  });
  p.stop_tokens = from["stop_tokens"].numbers<token_id>();
  p.request_stop_tokens = from["request_stop_tokens"].numbers<token_id>();
  p.min_tokens = from["min_tokens"].number<int>();
  p.ignore_eos = from["ignore_eos"].flag();
  p.seed = from["seed"].number<std::uint64_t>();
  p.choice = from["choice"].number<std::uint32_t>();
  p.vocab_limit = from["vocab_limit"].number<std::int32_t>();
  return p;
}

step step_of(const node& from) {
  step work;
  work.id = from["id"].number<step_id>();
  from["copies"].each([&](const node& pair) {
    const auto both = pair.numbers<block_id>();
    if (both.size() != 2) pair.fail("is no pair");
    work.copies.push_back({both[0], both[1]});
  });
  from["items"].each([&](const node& one) {
    step_item item;
    item.slot = one["slot"].number<slot_id>();
    item.kind = one["kind"].one_of<row_kind>(3);
    item.position = one["position"].number<std::int32_t>();
    item.tokens = one["tokens"].numbers<token_id>();
    item.input_is_last_pick = one["input_is_last_pick"].flag();
    item.blocks = one["blocks"].numbers<block_id>();
    item.logits_begin = one["logits_begin"].number<std::int32_t>();
    item.pick_begin = one["pick_begin"].number<std::int32_t>();
    item.next_token = one["next_token"].number<token_id>();
    item.hash_logits = one["hash_logits"].flag();
    work.items.push_back(std::move(item));
  });
  return work;
}

audit_record record_of(const node& from) {
  audit_record r;
  r.id = from["id"].number<sequence_id>();
  r.kind = from["kind"].one_of<row_kind>(3);
  r.cached_prefix = from["cached_prefix"].flag();
  r.batched = from["batched"].flag();
  r.position = from["position"].number<std::int32_t>();
  r.rows = from["rows"].number<std::int32_t>();
  r.tokens = from["tokens"].numbers<token_id>();
  r.sampling = sampling_of(from["sampling"]);
  r.prompt_tokens = from["prompt_tokens"].number<std::int32_t>();
  r.hash_begin = from["hash_begin"].number<std::int32_t>();
  r.logits_hashes = from["logits_hashes"].hashes();
  from["logits_states"].each([&](const node& one) {
    r.logits_states.push_back(one.one_of<logits_state>(3));
  });
  r.blocks = from["blocks"].numbers<block_id>();
  r.work = std::make_shared<const step>(step_of(from["step"]));
  if (r.position < 0 || r.rows < 1 ||
      static_cast<std::int64_t>(r.tokens.size()) !=
          std::int64_t{r.position} + r.rows) {
    from["tokens"].fail("are not those up to the item's last row");
  }
  return r;
}

audit_finding finding_of(const node& from) {
  audit_finding f;
  f.record = record_of(from["record"]);
  f.kind = kind_of(f.record);
  f.cold = from["cold"].flag();
  f.rows = from["rows"].number<std::int64_t>();
  f.kv_rows = from["kv_rows"].number<std::int64_t>();
  const auto first = from["first"];
  f.first = divergence{first["position"].number<std::int64_t>(),
                       first["row"].number<std::int64_t>(),
                       first["differing_bytes"].number<std::int64_t>(),
                       first["total_bytes"].number<std::int64_t>(),
                       first["where"].text()};
  from["classic"].each([&](const node& one) {
    f.classic.push_back({one["position"].number<std::int64_t>(),
                         one["logits"].hash(),
                         one["state"].one_of<logits_state>(3),
                         one["pick"].number<token_id>(), one["kv"].hash()});
  });
  f.kv_begin = from["kv_begin"].number<std::int64_t>();
  f.kv = from["kv"].hashes();
  return f;
}

}  // namespace

trip_evidence parse_evidence(const std::string& file, std::string_view text) {
  boost::system::error_code error;
  const auto parsed = json::parse(text, error);
  if (error) throw input_error(file, "is no JSON: " + error.message());
  const node from{file, "", parsed};
  if (from["format"].number<int>() != 1) from["format"].fail("is not 1");
  trip_evidence e;
  e.scope = from["scope"].text();
  e.scope_id = from["scope_id"].text();
  e.when_ms = from["when_ms"].number<std::int64_t>();
  e.before = parse_verdict_table(file, json::serialize(from["before"].value()));
  e.finding = finding_of(from["finding"]);
  return e;
}

}  // namespace vouch::engine
