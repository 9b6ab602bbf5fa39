#include "tests/support/fake_executor.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "engine/hash64.hpp"
#include "kernels/kv_layout.hpp"

namespace vouch::test {
namespace {

using engine::token_id;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
  hash *= 0xFF51AFD7ED558CCDULL;
  return hash ^ (hash >> 33U);
}

bool stops(const engine::sampling_params& params, token_id token) {
  return std::find(params.stop_tokens.begin(), params.stop_tokens.end(),
                   token) != params.stop_tokens.end();
}

class fake_executor final : public engine::executor {
 public:
  explicit fake_executor(fake_executor_options options)
      : options_(std::move(options)),
        kv_(static_cast<std::size_t>(options_.limits.blocks) *
                kernels::kv_block_tokens,
            -1) {
    if (!options_.inline_steps) {
      thread_ = std::thread{[this] { serve(); }};
    }
  }

  ~fake_executor() override {
    if (thread_.joinable()) {
      push({});
      thread_.join();
    }
  }

  const engine::executor_limits& limits() const override {
    return options_.limits;
  }
  std::string description() const override { return "fake, 1 thread"; }

  void open(engine::slot_start start) override {
    push([this, start = std::move(start)] {
      const auto slot = start.slot;
      if (slot < 0 || slot >= options_.limits.slots || slots_.count(slot)) {
        broken_ = "slot " + std::to_string(slot) + " cannot be opened";
      }
      slots_[slot] = {start, -1};
    });
  }
  void set_history(engine::slot_id slot,
                   std::vector<token_id> tokens) override {
    push([this, slot, tokens = std::move(tokens)] {
      if (!slots_.count(slot) || tokens.empty()) {
        broken_ = "history for slot " + std::to_string(slot);
      }
    });
  }
  void release(engine::slot_id slot) override {
    push([this, slot] {
      if (slots_.erase(slot) == 0 && !options_.closes_closed_slots) {
        broken_ = "slot " + std::to_string(slot) + " is not open";
      }
    });
  }
  void submit(engine::step work, completion done) override {
    push([this, work = std::move(work), done = std::move(done)] {
      done(run(work));
    });
  }
  std::vector<std::byte> read_kv(const std::vector<engine::block_id>& blocks,
                                 std::int32_t position) override {
    const token_id token = kv_.at(at(blocks, position));
    std::vector<std::byte> bytes(sizeof token);
    std::memcpy(bytes.data(), &token, sizeof token);
    return bytes;
  }
  void observe_logits(logits_observer) override {}
  void hash_kv(engine::kv_range range,
               std::function<void(engine::kv_hashes)> done) override {
    push([this, range = std::move(range), done = std::move(done)] {
      engine::kv_hashes result;
      try {
        for (auto p = range.from; p < range.to; ++p) {
          result.hashes.push_back(engine::hash64(read_kv(range.blocks, p)));
        }
      } catch (const std::exception& error) {
        result = {{}, error.what()};
      }
      done(std::move(result));
    });
  }
  void observe_ops(op_observer) override {}
  void set_faults(std::shared_ptr<const engine::fault_plan>) override {}

 private:
  using job = std::function<void()>;
  struct open_slot {
    engine::slot_start start;
    token_id last_pick = -1;
  };

  void push(job work) {
    if (options_.inline_steps) {
      if (work) {
        work();
      }
      return;
    }
    {
      const std::lock_guard lock{mutex_};
      jobs_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

  void serve() {
    for (;;) {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      const job work = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!work) {
        return;
      }
      work();
    }
  }

  std::size_t at(const std::vector<engine::block_id>& blocks,
                 std::int32_t position) const {
    const auto place =
        static_cast<std::size_t>(position / kernels::kv_block_tokens);
    if (position < 0 || place >= blocks.size() || blocks[place] < 0 ||
        blocks[place] >= options_.limits.blocks) {
      throw std::out_of_range("no block for position " +
                              std::to_string(position));
    }
    return static_cast<std::size_t>(blocks[place]) * kernels::kv_block_tokens +
           static_cast<std::size_t>(position % kernels::kv_block_tokens);
  }

  engine::step_result run(const engine::step& work) {
    engine::step_result result;
    result.id = work.id;
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (options_.observe) {
        options_.observe(work);
      }
      if (!broken_.empty()) {
        throw std::logic_error(broken_);
      }
      if (work.rows() > options_.limits.step_rows) {
        throw std::out_of_range("too many rows");
      }
      for (const auto& copy : work.copies) {
        const auto from =
            kv_.begin() + std::ptrdiff_t{copy.from} * kernels::kv_block_tokens;
        std::copy(
            from, from + kernels::kv_block_tokens,
            kv_.begin() + std::ptrdiff_t{copy.to} * kernels::kv_block_tokens);
      }
      for (const auto& item : work.items) {
        result.items.push_back(run(item));
      }
    } catch (const std::exception& error) {
      result.items.clear();
      result.error = error.what();
    }
    if (options_.delay.count() > 0) {
      std::this_thread::sleep_for(options_.delay);
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    return result;
  }

  engine::step_item_result run(const engine::step_item& item) {
    engine::step_item_result out;
    out.slot = item.slot;
    auto& slot = slots_.at(item.slot);
    const auto rows = static_cast<std::int32_t>(item.tokens.size());
    for (std::int32_t row = 0; row < rows; ++row) {
      const auto input = item.input_is_last_pick
                             ? slot.last_pick
                             : item.tokens[static_cast<std::size_t>(row)];
      kv_[at(item.blocks, item.position + row)] = input;
    }
    for (std::int32_t row = item.logits_begin; row < rows; ++row) {
      if (item.hash_logits) {
        const auto tokens = prefix(item, item.position + row);
        out.logits_hashes.push_back(
            engine::hash64(std::as_bytes(std::span{tokens})));
        out.logits_states.push_back(engine::logits_state::sound);
      }
      if (row >= item.pick_begin) {
        out.picks.push_back(pick(slot, item, item.position + row));
        slot.last_pick = out.picks.back().token;
      } else {
        const auto next = static_cast<std::size_t>(row) + 1;
        out.prompt_logprobs.push_back(scored(
            next < item.tokens.size() ? item.tokens[next] : item.next_token,
            slot.start.sampling.logprobs));
      }
    }
    return out;
  }

  /// Tokens up to a position, as they stand in the item's blocks.
  std::vector<token_id> prefix(const engine::step_item& item,
                               std::int32_t position) const {
    std::vector<token_id> tokens;
    for (std::int32_t i = 0; i <= position; ++i) {
      const auto token = kv_[at(item.blocks, i)];
      if (token < 0) {
        throw std::logic_error("position " + std::to_string(i) +
                               " was never written");
      }
      tokens.push_back(token);
    }
    return tokens;
  }

  engine::picked_token pick(const open_slot& slot,
                            const engine::step_item& item,
                            std::int32_t position) {
    auto params = slot.start.sampling;
    if (position + 1 - slot.start.prompt_tokens >= params.min_tokens) {
      params.min_tokens = 0;
    }
    return scored(options_.pick(prefix(item, position), params),
                  params.logprobs);
  }

  /// Made-up but deterministic log-probabilities.
  static engine::picked_token scored(token_id token, int logprobs) {
    engine::picked_token out;
    out.token = token;
    if (logprobs >= 0) {
      out.logprob = -0.5F;
      for (int i = 0; i < logprobs; ++i) {
        out.top.push_back({token + i, -0.5F - static_cast<float>(i)});
      }
    }
    return out;
  }

  const fake_executor_options options_;
  // The executor thread's alone.
  std::vector<token_id> kv_;
  std::map<engine::slot_id, open_slot> slots_;
  std::string broken_;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<job> jobs_;

  std::thread thread_;
};

}  // namespace

pick_function hash_picks(token_id vocab) {
  return [vocab](std::span<const token_id> prefix,
                 const engine::sampling_params& params) {
    std::uint64_t hash = 17;
    for (const auto token : prefix) {
      hash = mix(hash, static_cast<std::uint64_t>(token));
    }
    if (params.temperature > 0) {
      hash = mix(mix(hash, params.seed), params.choice);
    }
    auto token =
        static_cast<token_id>(hash % static_cast<std::uint64_t>(vocab));
    while ((params.ignore_eos || params.min_tokens > 0) &&
           stops(params, token)) {
      token = (token + 1) % vocab;
    }
    return token;
  };
}

pick_function script(std::vector<token_id> tokens, std::int64_t prompt_tokens,
                     token_id last) {
  return [tokens = std::move(tokens), prompt_tokens, last](
             std::span<const token_id> prefix, const engine::sampling_params&) {
    const auto place = static_cast<std::int64_t>(prefix.size()) - prompt_tokens;
    return place >= 0 && place < static_cast<std::int64_t>(tokens.size())
               ? tokens[static_cast<std::size_t>(place)]
               : last;
  };
}

std::shared_ptr<engine::executor> make_fake_executor(
    fake_executor_options options) {
  return std::make_shared<fake_executor>(std::move(options));
}

}  // namespace vouch::test
