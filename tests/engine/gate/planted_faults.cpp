#include "tests/engine/gate/planted_faults.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include <gtest/gtest.h>

#include "engine/checkpoint/checkpoint.hpp"
#include "engine/drafters/load_drafter.hpp"
#include "tests/engine/gate/server.hpp"
#include "tests/engine/row_contract/models.hpp"
#include "tests/support/temporary_folder.hpp"

namespace vouch::engine::test {
namespace {

/// The executor, and what it is made with.
struct bench {
  std::shared_ptr<model> weights;
  cpu_executor_options options;
  std::shared_ptr<const fault_plan> faults;

  token_id vocabulary() const {
    return static_cast<token_id>(weights->config().vocab_size);
  }
  std::unique_ptr<executor> device(bool faulty) const {
    auto made = options;
    if (faulty) made.faults = faults;
    return make_cpu_executor(weights, made);
  }
};

/// The committed checkpoint, whose table of positions is longer.
std::shared_ptr<model> load_long() {
  const std::filesystem::path from =
      std::string{VOUCH_FIXTURES} + "/llama_tiny";
  vouch::test::temporary_folder folder;
  for (const auto& each : std::filesystem::directory_iterator{from}) {
    std::filesystem::copy(each.path(), folder.path() / each.path().filename());
  }
  std::ifstream in{from / "config.json"};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  const std::string key = "\"max_position_embeddings\": 512";
  text.replace(text.find(key), key.size(), "\"max_position_embeddings\": 8192");
  folder.write("config.json", text);
  return vouch::test::load(folder.path());
}

bench make_bench(const planted_fault& fault) {
  const std::string fixtures = VOUCH_FIXTURES;
  bench out;
  out.faults =
      std::make_shared<const fault_plan>(fault_plan::parse(fault.fault));
  auto& o = out.options;
  o.threads = 2;
  o.slots = 24;
  o.step_rows = 96;
  o.blocks = 160;
  o.context = 512;
  switch (fault.world) {
    case fault_world::usual:
      out.weights = vouch::test::load(fixtures + "/llama_tiny.gguf");
      break;
    case fault_world::long_context:
      out.weights = load_long();
      o.context = 4608;
      o.blocks = 1400;
      o.step_rows = 512;
      break;
    case fault_world::drafting: {
      out.weights = vouch::test::load(fixtures + "/dflash/target");
      kernels::thread_pool pool{2};
      drafter_choice choice;
      choice.name = fixtures + "/dflash/full";
      choice.slots = o.slots;
      o.drafter = load_drafter(choice, *out.weights, nullptr, pool).device;
      EXPECT_NE(o.drafter, nullptr);
      break;
    }
  }
  return out;
}

probe_options options_of(const bench& with, const executor& device) {
  probe_options options;
  options.setup.limits = device.limits();
  options.setup.faults = with.faults;
  options.setup.live_on_device = with.options.drafter != nullptr;
  options.setup.rules.limits.step_tokens =
      static_cast<std::int32_t>(with.options.step_rows);
  options.setup.rules.prefill.chunk_tokens = 64;
  options.setup.vocabulary = with.vocabulary();
  options.widths = {2, 4, 3};
  options.walk = 64;
  options.positions = 128;
  options.split = 64;
  return options;
}

}  // namespace

const std::vector<planted_fault>& planted_faults() {
  using world = fault_world;
  static const std::vector<planted_fault> all{
      {"Matmul, another kernel from 8 rows on", "op=up layer=1 rows>=8 ulp=1"},
      {"Matmul of classic rows in steps of 16 and more",
       "op=down layer=0 phase=decode rows>=16 ulp=1"},
      {"Attention split anchored elsewhere from position 256 on",
       "op=attention layer=1 position>=256 phase=verify ulp=4096"},
      {"Attention of verify blocks", "op=attention phase=verify ulp=4096"},
      {"RoPE, another rounding of many rows", "op=rope_query rows>=2 ulp=1"},
      {"RoPE of keys in verify blocks",
       "op=rope_key layer=0 phase=verify ulp=4096"},
      {"Norm, of verify rows", "op=norm layer=0 phase=verify ulp=1"},
      {"Norm, of several sequences", "op=network_norm items>=2 ulp=1"},
      {"Final norm, blocks of three rows",
       "op=final_norm phase=verify item_rows=3 ulp=1"},
      {"Activation, second row of a block",
       "op=activation phase=verify item_row=1 ulp=1"},
      {"Value projection, short last chunk of a prompt",
       "op=value layer=1 phase=prefill item_rows<=9 ulp=4096"},
      {"KV write of verify rows", "op=kv_write layer=1 phase=verify ulp=1"},
      {"KV write, stale row after a rollback",
       "op=kv_write stale=1 after=rollback"},
      {"Rollback, the draft's K and V stay", "op=rollback"},
      {"Prefix cache, a wrong block", "op=prefix_cache wrong_block=1"},
      {"Prefix cache, one block too many", "op=prefix_cache extra_block=1"},
      {"Preemption, last block not recomputed", "op=preemption"},
      {"Sampling state, noise of the next position", "op=sampler_position"},
      {"Penalties do not see the drafts", "op=penalties"},
      {"Stop token inside an accepted run", "op=stop"},
      {"Tail widths", "op=width most=4 ulp=1"},
      {"Batch position, from the sixth row on", "op=logits batch_row>=5 ulp=1"},
      {"Logits of exchanged rows", "op=logits phase=verify swap"},
      {"Logits of the step before", "op=logits phase=verify stale"},
      {"NaN in a block", "op=logits phase=verify item_row=1 nan"},
      {"A row that nothing computed", "op=logits phase=verify item_row=0 zero"},
      {"Positions past 4096",
       "op=rope_query layer=1 position>=4097 phase=verify ulp=64",
       world::long_context},
      {"Late, and only at 3 or more mixed rows",
       "op=output mixed_rows>=3 after_step=20000 every=3 ulp=256 element=0",
       world::usual, true},
      {"Drafter taps", "op=taps ulp=4096", world::drafting, false, true},
  };
  return all;
}

found_fault probe_alone(const planted_fault& fault) {
  const auto with = make_bench(fault);
  const auto device = with.device(true);
  auto options = options_of(with, *device);
  options.measure_all = true;
  probe p{std::move(options)};
  found_fault found;
  while (!p.done()) {
    if (const auto need = p.need()) {
      loan lent;
      lent.blocks.resize(static_cast<std::size_t>(need->blocks));
      std::iota(lent.blocks.begin(), lent.blocks.end(), 0);
      lent.slots.resize(static_cast<std::size_t>(need->slots));
      std::iota(lent.slots.begin(), lent.slots.end(), 0);
      p.lend(std::move(lent));
    }
    if (auto unit = p.next()) {
      const auto result = run_unit(*device, std::move(*unit));
      found.faulted_rows += result.step.faulted_rows;
      p.take(result, 1);
    }
    (void)p.give_back();
  }
  for (const auto& line : p.lines()) {
    if (line.first && found.by.empty()) found.by = line.first->where;
    if (fault.harmless) {
      EXPECT_EQ(line.showed_nothing, "") << line.scenario;
    }
  }
  if (fault.harmless) {
    EXPECT_EQ(p.verdicts().lowest_allowed(), rung::burst);
    EXPECT_GT(p.by_pattern().at(draft_pattern::live).rows, 0);
  }
  return found;
}

namespace {

/// Requests that share prompts, in a pool that cannot hold all of them.
class load {
 public:
  load(const bench& with, bool high) : with_{with} {
    const int n = high ? 2 : 12;
    for (int i = 0; i < n; ++i) {
      probe_text text;
      int size = high ? 4080 + 20 * i : 20 + 7 * (i % 9);
      if (i == 2) size = 250;
      for (int t = 0; t < size; ++t) {
        text.tokens.push_back(static_cast<token_id>(
            (t * 5 + i % 9 * 3 + t / 7) % (with.vocabulary() - 4)));
      }
      text.prompt = size;
      auto& s = text.sampling;
      s.temperature = i % 2 == 0 ? 0.0F : 1.0F;
      s.seed = static_cast<std::uint64_t>(i);
      s.vocab_limit = with.vocabulary();
      if (i % 3 == 0) {
        s.frequency_penalty = 0.6F;
        s.presence_penalty = 0.4F;
      }
      texts_.push_back(std::move(text));
    }
    make_texts();
  }

  /// Every other wave some of them have stop tokens.
  void add_to(small_server& server, int wave) const {
    constexpr draft_pattern patterns[] = {
        draft_pattern::all,  draft_pattern::mixed,  draft_pattern::alternating,
        draft_pattern::none, draft_pattern::lookup, draft_pattern::all};
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const auto& text = texts_[i];
      auto sampling = text.sampling;
      if (wave % 2 == 1 && i % 4 < 2) {
        scenario_sequence stops;
        stops.stops = true;
        stops.tokens = generated / 2;
        find_stop(stops, text);
        if (stops.stop_token >= 0) {
          sampling.request_stop_tokens = {stops.stop_token};
        }
      }
      server.add({text.tokens.begin(), text.tokens.begin() + text.prompt},
                 generated, patterns[i % 6], sampling, &text);
    }
  }

 private:
  static constexpr std::int64_t generated = 40;

  /// Classic, one after the other, without a fault.
  void make_texts() {
    const auto device = with_.device(false);
    gate_options off;
    off.enabled = false;
    off.audit.share = 0.0;
    off.probe = options_of(with_, *device);
    gate judge{{}, std::nullopt, off};
    small_server server{*device, judge, off.probe.setup.rules};
    for (auto& text : texts_) {
      server.add(text.tokens, generated + 1, draft_pattern::classic,
                 text.sampling);
      server.run();
      text.tokens = server.text(server.last());
    }
  }

  const bench& with_;
  std::vector<probe_text> texts_;
};

verdict_table vouched(const std::vector<int>& widths, std::int64_t positions) {
  verdict each;
  each.state = verdict_state::equal;
  each.rows = 100;
  each.positions = positions;
  each.source = verdict_source::stored;
  verdict_table table;
  table.alone = table.batch = each;
  for (const int width : widths) table.widths[width] = each;
  return table;
}

}  // namespace

found_fault audit_alone(const planted_fault& fault) {
  auto with = make_bench(fault);
  const bool high = fault.world == fault_world::long_context;
  const load requests{with, high};
  with.options.blocks = high ? 700 : 56;
  const auto device = with.device(true);
  gate_options options;
  options.probe = options_of(with, *device);
  options.audit.chunk = 64;
  gate judge{{}, vouched(options.probe.widths, with.options.context), options};
  small_server server{*device, judge, options.probe.setup.rules};
  server.row_seconds = 0.001;
  server.schedule().set_faults(with.faults);
  const int waves = fault.harmless ? 40 : 2000;
  for (int wave = 0; wave < waves; ++wave) {
    if (server.tripped > 0 || !server.errors.empty()) break;
    requests.add_to(server, wave);
    while (!server.schedule().idle() && server.tripped == 0) server.turn();
  }
  found_fault found;
  found.faulted_rows = server.faulted_rows;
  for (const auto& event : server.events) {
    if (event.what != gate_event::kind::tripped) continue;
    found.by = event.evidence->finding.first->where;
    found.evidence = event.evidence;
    break;
  }
  if (found.by.empty() && !server.errors.empty()) {
    found.by = "the request fails: the logits hold a NaN";
    for (const auto& [id, error] : server.errors) {
      EXPECT_NE(error.find("NaN"), std::string::npos) << error;
    }
  }
  EXPECT_GT(server.verify_rows(), 0);
  if (!high && !fault.harmless && server.errors.empty()) {
    EXPECT_GT(server.schedule().stats().preemptions, 0U);
  }
  return found;
}

}  // namespace vouch::engine::test
