#include "tests/engine/row_contract/mix.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/engine/executor/step_items.hpp"

namespace vouch::test {

namespace {

using engine::block_id;
using engine::slot_id;
using engine::token_id;
constexpr std::int32_t block = kernels::kv_block_tokens;
constexpr std::int32_t chunk = kernels::attention_chunk_positions;

struct mixed_sequence {
  const reference_rows* reference = nullptr;
  slot_id slot = -1;
  /// The next position to compute.
  std::int32_t position = 0;
  /// Positions that stood before the step that is being planned.
  std::int32_t computed = 0;
  std::vector<block_id> blocks;
  bool resumed = false;
  /// Rows of the running step before this position have the right prefix.
  std::int32_t standing = 0;

  std::int32_t length() const {
    return static_cast<std::int32_t>(reference->tokens.size());
  }
  bool finished() const { return position == length(); }
};

class mixer {
 public:
  mixer(const std::shared_ptr<engine::model>& weights,
        const std::vector<reference_rows>& references,
        const mix_options& options)
      : options_{options},
        random_{options.seed},
        vocab_size_{weights->config().vocab_size} {
    std::size_t blocks = 8;
    for (const auto& reference : references) {
      blocks += reference.tokens.size() / block + 2;
      sequences_.emplace_back().reference = &reference;
    }
    engine::cpu_executor_options device;
    device.threads = options.threads;
    device.kv_type = options.kv_type;
    device.blocks = static_cast<std::int32_t>(blocks);
    device.slots = static_cast<std::int32_t>(references.size()) + 3;
    device.step_rows = 320;
    device.plan = options.plan;
    device_ = engine::make_cpu_executor(weights, device);
    users_.resize(blocks);
    free_blocks_ = block_range(0, blocks);
    free_slots_ = block_range(0, references.size() + 3);
    owners_.resize(references.size() + 3);
    device_->observe_logits(
        [this](slot_id slot, std::int32_t position, const float* logits,
               std::int64_t n) { compare_row(slot, position, logits, n); });
  }

  mix_report run() {
    while (report_.error.empty() && !finished()) {
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < sequences_.size(); ++i) {
        sequences_[i].computed = sequences_[i].position;
        // New ones trickle in, so that there are prefixes to share.
        if (!sequences_[i].finished() &&
            (sequences_[i].slot >= 0 || chance(15))) {
          order.push_back(i);
        }
      }
      if (!order.empty()) {
        std::shuffle(order.begin(), order.end(), random_);
        order.resize(1 + below(order.size()));
        run_one(order);
      }
    }
    for (const auto& sequence : sequences_) {
      compare_kv(sequence);
    }
    return report_;
  }

 private:
  bool finished() const {
    return std::all_of(sequences_.begin(), sequences_.end(),
                       [](const auto& s) { return s.finished(); });
  }
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(int percent) {
    return below(100) < static_cast<std::size_t>(percent);
  }

  block_id take_block() {
    const std::size_t i = below(free_blocks_.size());
    std::swap(free_blocks_[i], free_blocks_.back());
    const block_id taken = free_blocks_.back();
    free_blocks_.pop_back();
    users_[static_cast<std::size_t>(taken)] = 1;
    return taken;
  }

  void drop_blocks(mixed_sequence& sequence, std::size_t keep) {
    while (sequence.blocks.size() > keep) {
      const block_id dropped = sequence.blocks.back();
      sequence.blocks.pop_back();
      if (--users_[static_cast<std::size_t>(dropped)] == 0) {
        free_blocks_.push_back(dropped);
      }
    }
  }

  void open(mixed_sequence& sequence) {
    const std::size_t i = below(free_slots_.size());
    std::swap(free_slots_[i], free_slots_.back());
    sequence.slot = free_slots_.back();
    free_slots_.pop_back();
    owners_[static_cast<std::size_t>(sequence.slot)] = &sequence;
    engine::slot_start start;
    start.slot = sequence.slot;
    start.prompt_tokens = sequence.length();
    device_->open(start);
    if (sequence.position > 0) {
      const auto& tokens = sequence.reference->tokens;
      device_->set_history(
          sequence.slot, {tokens.begin(), tokens.begin() + sequence.position});
    }
  }

  void preempt(mixed_sequence& sequence) {
    compare_kv(sequence);
    ++report_.preemptions;
    device_->release(sequence.slot);
    free_slots_.push_back(sequence.slot);
    // All of it, or all but some leading full blocks.
    const auto full = static_cast<std::size_t>(sequence.position / block);
    const std::size_t keep = chance(60) ? 0 : below(full + 1);
    drop_blocks(sequence, keep);
    sequence.position = static_cast<std::int32_t>(keep) * block;
    sequence.computed = std::min(sequence.computed, sequence.position);
    sequence.resumed = true;
    open(sequence);
  }

  /// Starts a sequence, if possible behind another one's blocks.
  void start(mixed_sequence& sequence, engine::step& work) {
    const mixed_sequence* donor = nullptr;
    std::int32_t common = 0;
    for (const auto& other : sequences_) {
      std::int32_t n = 0;
      const auto limit = std::min(other.computed, sequence.length() - 1);
      while (n < limit &&
             other.reference->tokens[static_cast<std::size_t>(n)] ==
                 sequence.reference->tokens[static_cast<std::size_t>(n)]) {
        ++n;
      }
      if (&other != &sequence && n > common) {
        donor = &other;
        common = n;
      }
    }
    if (donor != nullptr && chance(80)) {
      common -= static_cast<std::int32_t>(
          below(static_cast<std::size_t>(std::min(common, 4))));
      const auto full = static_cast<std::size_t>(common / block);
      for (std::size_t i = 0; i < full; ++i) {
        sequence.blocks.push_back(donor->blocks[i]);
        ++users_[static_cast<std::size_t>(donor->blocks[i])];
        ++report_.shared_blocks;
      }
      if (common % block != 0) {
        sequence.blocks.push_back(take_block());
        ++report_.copied_blocks;
        if (!options_.faults.forget_copies) {
          work.copies.push_back({donor->blocks[full], sequence.blocks.back()});
        }
      }
      sequence.position = common;
    }
    open(sequence);
  }

  std::int32_t choose_rows(const mixed_sequence& sequence, std::int32_t room) {
    const std::int32_t left =
        std::min(room, sequence.length() - sequence.position);
    std::int32_t rows = 1;
    if (chance(40)) {
      rows = 2 + static_cast<std::int32_t>(below(15));
    } else if (chance(35)) {
      rows = 17 + static_cast<std::int32_t>(below(50));
    } else if (chance(10)) {
      // To one before, at or one past the attention chunk's border.
      rows =
          chunk - 1 + static_cast<std::int32_t>(below(3)) - sequence.position;
    }
    return std::clamp(rows, 1, left);
  }

  void run_one(const std::vector<std::size_t>& order) {
    engine::step work;
    work.id = static_cast<engine::step_id>(++report_.steps);
    std::vector<std::int32_t> kept;
    std::vector<mixed_sequence*> members;
    std::int32_t room = 320;
    for (const std::size_t index : order) {
      mixed_sequence& sequence = sequences_[index];
      if (sequence.slot < 0) {
        start(sequence, work);
      } else if (chance(5)) {
        preempt(sequence);
      }
      if (room == 0) {
        continue;
      }
      const std::int32_t rows = choose_rows(sequence, room);
      room -= rows;
      members.push_back(&sequence);
      kept.push_back(add_item(sequence, rows, work));
    }
    report_.shared_steps += work.items.size() > 1 ? 1 : 0;
    const auto result = run_step(*device_, work);
    report_.error = result.error;
    for (const auto& item : result.items) {
      report_.error += item.error;
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      mixed_sequence& sequence = *members[i];
      sequence.position += kept[i];
      if (chance(50)) {
        // What only rejected rows needed goes back to the pool.
        drop_blocks(sequence, static_cast<std::size_t>(
                                  (sequence.position + block - 1) / block));
      }
    }
  }

  /// Appends the sequence's next rows; returns how many of them will stand.
  std::int32_t add_item(mixed_sequence& sequence, std::int32_t rows,
                        engine::step& work) {
    const auto& tokens = sequence.reference->tokens;
    const auto first = tokens.begin() + sequence.position;
    while (static_cast<std::int32_t>(sequence.blocks.size()) * block <
           sequence.position + rows) {
      sequence.blocks.push_back(take_block());
    }
    auto item = prefill(sequence.slot, sequence.position, {first, first + rows},
                        sequence.blocks);
    item.logits_begin = 0;
    item.pick_begin = 0;
    std::int32_t kept = rows;
    if (rows == 1) {
      item.kind = engine::row_kind::decode;
    } else if (rows <= 16) {
      item.kind = engine::row_kind::verify;
      kept =
          1 + static_cast<std::int32_t>(below(static_cast<std::size_t>(rows)));
      for (auto i = static_cast<std::size_t>(kept); i < item.tokens.size();
           ++i) {
        const auto wrong = 1 + below(static_cast<std::size_t>(vocab_size_) - 1);
        item.tokens[i] = static_cast<token_id>(
            (static_cast<std::size_t>(item.tokens[i]) + wrong) %
            static_cast<std::size_t>(vocab_size_));
      }
      ++(kept < rows ? report_.rollbacks : report_.full_accepts);
    } else if (sequence.position > 0 || rows < sequence.length()) {
      ++report_.cuts;
    }
    if (options_.faults.stale_block_after_resume && sequence.resumed &&
        sequence.position >= block) {
      plant_stale_block(sequence, item);
    }
    sequence.standing = sequence.position + kept;
    work.items.push_back(std::move(item));
    return kept;
  }

  void plant_stale_block(const mixed_sequence& sequence,
                         engine::step_item& item) {
    for (const auto& other : sequences_) {
      if (&other != &sequence && other.computed >= block &&
          other.blocks[0] != sequence.blocks[0]) {
        item.blocks[0] = other.blocks[0];
      }
    }
  }

  void differ(std::int64_t& counter, const char* what,
              const mixed_sequence& sequence, std::int32_t position) {
    ++counter;
    if (report_.first.empty()) {
      report_.first = std::string{what} + " of sequence " +
                      std::to_string(&sequence - sequences_.data()) +
                      " at position " + std::to_string(position) + " in step " +
                      std::to_string(report_.steps) + " of seed " +
                      std::to_string(options_.seed) + ", " +
                      std::to_string(options_.threads) + " threads";
    }
  }

  /// On the executor's thread, while this one waits for the step.
  void compare_row(slot_id slot, std::int32_t position, const float* logits,
                   std::int64_t n) {
    const mixed_sequence& sequence = *owners_[static_cast<std::size_t>(slot)];
    const auto& reference = *sequence.reference;
    const auto at = static_cast<std::size_t>(position);
    if (position >= sequence.standing) {
      return;
    }
    ++report_.rows;
    const auto& expected = reference.logits[at];
    if (expected.size() != static_cast<std::size_t>(n) * sizeof(float) ||
        std::memcmp(expected.data(), logits, expected.size()) != 0) {
      differ(report_.different_rows, "logits", sequence, position);
    }
  }

  void compare_kv(const mixed_sequence& sequence) {
    for (std::int32_t p = 0; p < sequence.position; ++p) {
      ++report_.kv_rows;
      if (device_->read_kv(sequence.blocks, p) !=
          sequence.reference->kv[static_cast<std::size_t>(p)]) {
        differ(report_.different_kv_rows, "KV", sequence, p);
      }
    }
  }

  mix_options options_;
  std::mt19937 random_;
  std::int64_t vocab_size_;
  std::unique_ptr<engine::executor> device_;
  std::vector<mixed_sequence> sequences_;
  std::vector<int> users_;
  std::vector<block_id> free_blocks_;
  std::vector<slot_id> free_slots_;
  std::vector<const mixed_sequence*> owners_;
  mix_report report_;
};

}  // namespace

mix_report run_mix(const std::shared_ptr<engine::model>& weights,
                   const std::vector<reference_rows>& references,
                   const mix_options& options) {
  return mixer{weights, references, options}.run();
}

}  // namespace vouch::test
