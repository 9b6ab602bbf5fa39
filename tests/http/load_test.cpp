#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/http/served_model.hpp"

// Case 15: prompts keep arriving while many streams decode. Waits are counted
// in steps, as the executor saw them, so that a slow machine changes nothing.

namespace vouch::http {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
using test::joined;
using test::post;
using test::raw_client;
using test::served_model;

const std::string route = "/v1/completions";

constexpr int streams = 100;
constexpr int stream_tokens = 400;
constexpr std::size_t huge_prompt = 12'000;

json::object body_of(const std::string& prompt, int max_tokens) {
  json::object body;
  body["prompt"] = prompt;
  body["max_tokens"] = max_tokens;
  body["temperature"] = 0;
  body["ignore_eos"] = true;
  return body;
}

// What the executor was asked to do, by slot.
class step_log {
 public:
  struct entry {
    std::int64_t step = 0;
    std::int32_t position = 0;
    std::int32_t rows = 0;
    bool decode = false;
  };

  void add(const engine::step& work) {
    const std::lock_guard lock{mutex_};
    ++step_;
    for (const auto& item : work.items) {
      entries_[item.slot].push_back(
          {step_, item.position, static_cast<std::int32_t>(item.tokens.size()),
           item.kind == engine::row_kind::decode});
    }
  }

  // One list a sequence: a slot's entries, cut where positions start anew.
  std::vector<std::vector<entry>> sequences() const {
    const std::lock_guard lock{mutex_};
    std::vector<std::vector<entry>> result;
    for (const auto& [slot, entries] : entries_) {
      std::int32_t next = -1;
      for (const auto& item : entries) {
        if (item.position != next) result.emplace_back();
        result.back().push_back(item);
        next = item.position + item.rows;
      }
    }
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t step_ = 0;
  std::map<engine::slot_id, std::vector<entry>> entries_;
};

TEST(load, case_15_arriving_prompts_neither_stall_streams_nor_starve) {
  step_log log;
  test::fake_executor_options options;
  options.limits = {4096, 160, 512, 16'384};
  options.delay = 1ms;
  options.observe = [&log](const engine::step& work) { log.add(work); };
  runtime::config settings;
  settings.policy.limits.max_running = 160;
  served_model it{options, settings};

  // What 400 tokens take fits the sockets' buffers: nobody has to read yet.
  std::vector<std::unique_ptr<raw_client>> clients;
  for (int i = 0; i < streams; ++i) {
    auto body = body_of("stream " + std::to_string(i), stream_tokens);
    body["stream"] = true;
    clients.push_back(std::make_unique<raw_client>(it.port()));
    clients.back()->send(post(route, json::serialize(body)));
  }
  for (auto& client : clients) client->read_until("\"text\"");

  // Small prompts, one behind the other, for as long as the streams run.
  std::atomic<bool> enough{false};
  std::atomic<int> answered{0};
  std::vector<std::jthread> arrivals;
  for (int t = 0; t < 2; ++t) {
    arrivals.emplace_back([&, t] {
      for (int i = 0; !enough; ++i) {
        const auto prompt = std::to_string(i) + " of " + std::to_string(t) +
                            ": " + std::string(40, 'p');
        it.text(route, body_of(prompt, 3));
        ++answered;
      }
    });
  }
  std::string prompt = "huge ";
  while (prompt.size() < huge_prompt)
    prompt += static_cast<char>('a' + prompt.size() * prompt.size() % 25);
  EXPECT_FALSE(it.text(route, body_of(prompt, 2)).empty());
  std::vector<std::string> texts;
  for (auto& client : clients) {
    std::string text;
    for (const auto& data : test::sse_data(client->read()->body)) {
      if (data == "[DONE]") break;
      text += json::value_to<std::string>(
          json::parse(data).at("choices").at(0).at("text"));
    }
    texts.push_back(text);
  }
  enough = true;
  arrivals.clear();
  EXPECT_GT(answered, 10);

  const auto sequences = log.sequences();
  std::int64_t decode_gap = 0;
  std::int64_t huge_gap = 0;
  std::int64_t huge_begin = 0;
  std::int64_t huge_end = 0;
  for (const auto& entries : sequences) {
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const auto gap = entries[i].step - entries[i - 1].step;
      if (entries[i].decode) {
        decode_gap = std::max(decode_gap, gap);
      } else if (entries.back().position > 10'000) {
        huge_gap = std::max(huge_gap, gap);
        huge_end = entries[i].step;
      }
    }
    if (entries.back().position > 10'000) huge_begin = entries[0].step;
  }
  int inside = 0;
  for (const auto& entries : sequences) {
    inside +=
        entries.front().step > huge_begin && entries.back().step < huge_end;
  }
  // Every stream gets a token in every step, whatever arrives.
  EXPECT_LE(decode_gap, 2);
  // The huge prompt goes on in every step or nearly so.
  EXPECT_GE(huge_end - huge_begin, 40);
  EXPECT_LE(huge_gap, 4);
  // Small ones begin and end while it is computed.
  EXPECT_GE(inside, 2);

  for (const int i : {0, 37, 99}) {
    EXPECT_EQ(
        texts[static_cast<std::size_t>(i)],
        it.text(route, body_of("stream " + std::to_string(i), stream_tokens)));
  }
}

}  // namespace
}  // namespace vouch::http
