#include "engine/gate/run_unit.hpp"

#include <future>
#include <span>
#include <utility>

#include "engine/executor/run_step.hpp"

namespace vouch::engine {
namespace {

std::vector<std::uint64_t> hash(executor& device, kv_range range) {
  auto promise = std::make_shared<std::promise<kv_hashes>>();
  auto made = promise->get_future();
  device.hash_kv(std::move(range), [promise](kv_hashes done) {
    promise->set_value(std::move(done));
  });
  // Where the range is malformed there are none, which nothing is equal to.
  return made.get().hashes;
}

draft_result ask_drafter(executor& device, draft_batch batch) {
  auto promise = std::make_shared<std::promise<draft_result>>();
  auto made = promise->get_future();
  device.draft(std::move(batch), [promise](draft_result done) {
    promise->set_value(std::move(done));
  });
  return made.get();
}

/// Copies the logits that `reads` names while it lives.
class logits_reader {
 public:
  logits_reader(executor& device, const std::vector<row_read>& reads,
                std::vector<std::vector<std::byte>>& into)
      : device_{&device} {
    device.observe_logits([&reads, &into](slot_id slot, std::int32_t position,
                                          const float* row, std::int64_t n) {
      for (std::size_t i = 0; i < reads.size(); ++i) {
        if (!reads[i].blocks.empty() || reads[i].slot != slot ||
            reads[i].position != position) {
          continue;
        }
        const auto bytes =
            std::as_bytes(std::span{row, static_cast<std::size_t>(n)});
        into[i].assign(bytes.begin(), bytes.end());
      }
    });
  }
  ~logits_reader() { device_->observe_logits({}); }
  logits_reader(const logits_reader&) = delete;
  logits_reader& operator=(const logits_reader&) = delete;

 private:
  executor* device_;
};

}  // namespace

gate_unit_result run_unit(executor& device, gate_unit unit) {
  gate_unit_result result;
  result.reads.resize(unit.reads.size());
  for (const auto slot : unit.work.released) device.release(slot);
  for (auto& start : unit.work.opened) device.open(std::move(start));
  for (auto& history : unit.work.histories) {
    device.set_history(history.slot, std::move(history.tokens));
  }
  if (!unit.work.work.items.empty()) {
    std::optional<logits_reader> reader;
    if (!unit.reads.empty()) {
      reader.emplace(device, unit.reads, result.reads);
    }
    result.step = run_step(device, std::move(unit.work.work));
  }
  if (!unit.drafts.items.empty()) {
    result.drafts = ask_drafter(device, std::move(unit.drafts));
  }
  for (auto& range : unit.kv) {
    result.kv.push_back(hash(device, std::move(range)));
  }
  for (std::size_t i = 0; i < unit.reads.size(); ++i) {
    const auto& read = unit.reads[i];
    if (!read.blocks.empty()) {
      result.reads[i] = device.read_kv(read.blocks, read.position);
    }
  }
  return result;
}

}  // namespace vouch::engine
