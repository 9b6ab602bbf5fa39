// The audit through the actors: what it finds, and what a trip does.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/gate/evidence.hpp"
#include "engine/gate/verdict_store.hpp"
#include "tests/actors/gate_world.hpp"

namespace vouch::actors {
namespace {

using engine::decline_reason;
using test::expect_all_memory_back;
using test::expect_text;
using test::gate_case;
using test::gate_of;
using test::is_gates;
using test::report_of;
using test::small_device;
using test::text_request;
using test::world;

bool has_verify(const engine::step& work) {
  return std::any_of(work.items.begin(), work.items.end(), [](const auto& i) {
    return i.kind == engine::row_kind::verify;
  });
}

/// Other logits in steps of three rows or more of several sequences, as long
/// as it is on.
struct mixed_rows_fault {
  bool on = false;
  bool of_bursts_only = false;
  std::int64_t changed = 0;

  void spoil(const engine::step& work, engine::step_result& result) {
    test::take_time(work, result);
    if (!on || work.items.size() < 2 || work.rows() < 3) return;
    for (std::size_t i = 0; i < result.items.size(); ++i) {
      if (of_bursts_only && work.items[i].kind != engine::row_kind::verify) {
        continue;
      }
      for (auto& hash : result.items[i].logits_hashes) {
        hash ^= 1U;
        ++changed;
      }
    }
  }
};

class Trip : public testing::Test {
 protected:
  /// A probed world, and requests that are always there: `busy` at once.
  std::unique_ptr<world> start(int steps_in_flight = 1) {
    auto all = std::make_unique<world>(engine::policy{}, small_device(),
                                       one.adjust(), steps_in_flight);
    all->alter = [this](const engine::step& work, engine::step_result& result) {
      if (!is_gates(work)) ++served;
      fault.spoil(work, result);
    };
    return all;
  }
  void keep_busy(world& all, std::int64_t busy) {
    const auto now = all.counters->stats();
    for (auto n = now.running + now.waiting; n < busy; ++n) {
      const auto id = std::string{"r"} + std::to_string(sent++);
      all.submit(text_request(id, prompt(id), 100));
      all.run();
    }
  }
  static std::string prompt(const std::string& id) {
    return std::string{"tell me "} + id;
  }
  engine::verdict_table on_disk(const world& all) const {
    const auto found =
        engine::verdict_store{one.verdicts}.load(gate_of(all).scope);
    EXPECT_EQ(found.warning, "");
    return found.table.value_or(engine::verdict_table{});
  }

  test::temporary_folder folder;
  gate_case one{folder.path()};
  mixed_rows_fault fault;
  std::int64_t served = 0;
  int sent = 0;
};

TEST_F(Trip, TheAuditAtItsDefaultShareCatchesAFaultThatBeginsLater) {
  for (const int round : {0, 1, 2, 3}) {
    const bool of_bursts_only = round % 2 == 1;
    const int in_flight = 1 + round / 2;
    SCOPED_TRACE(round);
    one = gate_case{folder.path() / std::to_string(round)};
    one.audit_share = engine::audit_options{}.share;
    fault = {};
    sent = 0;
    auto all = start(in_flight);
    all->run_to_end();
    ASSERT_EQ(gate_of(*all).verdict, "equal");
    for (served = 0; served < 2000;) {
      keep_busy(*all, 4);
      all->finish_step();
    }
    EXPECT_EQ(gate_of(*all).trips, 0);
    EXPECT_EQ(on_disk(*all).any_tripped(), false);

    fault.on = true;
    fault.of_bursts_only = of_bursts_only;
    for (served = 0; served < 4000 && gate_of(*all).trips == 0;) {
      keep_busy(*all, 4);
      all->device()->finish_step();
      std::optional<std::uint64_t> planned;
      while (all->run_once()) {
        // Nothing is planned while a verdict falls.
        if (all->scheduling().paused) {
          const auto steps = all->scheduling().schedule->stats().steps;
          if (!planned) planned = steps;
          EXPECT_EQ(steps, *planned);
        }
        if (gate_of(*all).trips > 0) break;
      }
    }
    ASSERT_EQ(gate_of(*all).trips, 1);
    RecordProperty(std::string{"steps_until_"} + std::to_string(round),
                   std::to_string(served));
    EXPECT_GT(fault.changed, 0);
    // On the disk, although SCHEDULER has not handled the trip yet.
    EXPECT_TRUE(on_disk(*all).any_tripped());

    std::set<std::string> running;
    for (const auto& [address, r] : all->inside().requests)
      running.insert(r.id);
    ASSERT_GE(running.size(), 3U);
    all->run();
    const auto now = gate_of(*all);
    EXPECT_EQ(now.verdict, "tripped");
    ASSERT_TRUE(now.closed);
    EXPECT_EQ(now.closed->reason, decline_reason::gate_tripped);

    // From here on nobody has a verify block, and nobody fails.
    int steps = 0;
    while (all->counters->stats().running > 0 || steps == 0) {
      if (all->device()->steps_held() > 0) {
        const auto& next = all->device()->newest();
        EXPECT_FALSE(!is_gates(next) && steps > 0 && has_verify(next));
      }
      ++steps;
      ASSERT_TRUE(all->finish_step());
    }
    for (const auto& id : running) {
      expect_text(*all, id, prompt(id), 100);
      EXPECT_EQ(report_of(*all, id).verdict, "tripped");
      EXPECT_FALSE(report_of(*all, id).vouched);
      EXPECT_EQ(report_of(*all, id).declined, decline_reason::gate_tripped);
    }
    all->submit(text_request("later", "hello", 40));
    all->run_to_end();
    expect_text(*all, "later", "hello", 40);
    EXPECT_EQ(report_of(*all, "later").rounds, 0);
    EXPECT_EQ(report_of(*all, "later").declined, decline_reason::gate_tripped);
    expect_all_memory_back(*all);
    EXPECT_TRUE(one.warnings->empty()) << one.warnings->front();

    // Its evidence.
    std::vector<std::filesystem::path> trips;
    for (const auto& each : std::filesystem::directory_iterator{one.evidence}) {
      trips.push_back(each.path());
    }
    // Once for bursts; classic rows may have followed.
    ASSERT_GE(trips.size(), 1U);
    ASSERT_LE(trips.size(), of_bursts_only ? 1U : 2U);
    EXPECT_NE(std::find(trips.begin(), trips.end(),
                        gate_of(*all).verdicts.widths.at(4).evidence),
              trips.end());
    for (const auto& trip : trips) {
      std::ifstream in{trip / "trip.json"};
      const std::string text{std::istreambuf_iterator<char>{in}, {}};
      const auto evidence = engine::parse_evidence("trip.json", text);
      EXPECT_EQ(evidence.scope_id, now.id);
      ASSERT_TRUE(evidence.finding.first);
      EXPECT_TRUE(evidence.finding.record.batched);
      ASSERT_TRUE(evidence.finding.record.work);
      EXPECT_GE(evidence.finding.record.work->rows(), 3);
    }
  }
}

TEST_F(Trip, OutlivesARestartUntilItIsCleared) {
  one.audit_share = 0.2;
  {
    auto all = start();
    all->run_to_end();
    fault.on = true;
    fault.of_bursts_only = true;
    while (gate_of(*all).trips == 0 && served < 20'000) {
      keep_busy(*all, 4);
      all->finish_step();
    }
    ASSERT_EQ(gate_of(*all).trips, 1);
  }
  fault = {};
  {
    auto all = start();
    EXPECT_EQ(gate_of(*all).verdict, "tripped");
    all->submit(text_request("a", "hello", 40));
    all->run_to_end();
    expect_text(*all, "a", "hello", 40);
    EXPECT_EQ(report_of(*all, "a").rounds, 0);
    EXPECT_EQ(report_of(*all, "a").declined, decline_reason::gate_tripped);
    // Classic rows are measured again, and vouched for.
    EXPECT_TRUE(gate_of(*all).verdicts.batch.equal());
    EXPECT_TRUE(gate_of(*all).verdicts.widths.at(4).tripped());
    EXPECT_TRUE(on_disk(*all).any_tripped());
  }
  EXPECT_EQ(engine::verdict_store{one.verdicts}.clear(one.model).size(), 1U);
  auto all = start();
  EXPECT_EQ(gate_of(*all).verdict, "not_run");
  all->run_to_end();
  EXPECT_EQ(gate_of(*all).verdict, "equal");
  all->submit(text_request("b", "hello", 40));
  all->run_to_end();
  EXPECT_GT(report_of(*all, "b").rounds, 0);
  EXPECT_TRUE(report_of(*all, "b").vouched);
}

TEST_F(Trip, DrawnRowsThatAreNeverSettledDoNotEndTheAudit) {
  one.audit_share = 0.05;
  auto all = start();
  all->run_to_end();
  const auto audited = [&] {
    std::int64_t rows = 0;
    for (const auto& kind : gate_of(*all).audit.rows) rows += kind[0];
    return rows;
  };
  for (int i = 0; i < 300; ++i) {
    const auto id = std::string{"gone"} + std::to_string(i);
    all->submit(text_request(id, prompt(id), 20));
    all->run();
    for (int step = 0; step < i % 5; ++step) all->finish_step();
    all->cancel(id);
    all->run_to_end();
  }
  const auto before = audited();
  served = 0;
  while (served < 1000) {
    keep_busy(*all, 2);
    all->finish_step();
  }
  all->run_to_end();
  EXPECT_GT(audited(), before + 20);
  expect_all_memory_back(*all);
}

TEST_F(Trip, AThousandRequestsLeaveNothing) {
  one.audit_share = 0.05;
  auto all = start();
  all->run_to_end();
  const auto actors_before = all->system.registry().running();
  for (int i = 0; i < 1000; ++i) {
    const auto id = std::to_string(i);
    auto request = text_request(id, prompt(id), 1 + i % 30);
    request.n = 1 + i % 3;
    request.speculation.enabled = i % 7 != 0;
    const auto from = test::spawn_client(all->system, all->events);
    all->submit(request, from);
    if (i % 5 == 0) all->run();
    if (i % 11 == 0) caf::anon_send_exit(from, caf::exit_reason::kill);
    if (i % 13 == 0) all->cancel(id);
    if (i % 20 == 19) all->run_to_end();
  }
  all->run_to_end();
  // Those who ended meanwhile are told with the next order.
  all->submit(text_request("last", "hello", 40));
  all->run_to_end();
  EXPECT_EQ(report_of(*all, "last").verdict, "equal");
  EXPECT_EQ(all->drafting().sequences.size(), 1U);
  EXPECT_TRUE(all->scheduling().reserved.empty());
  EXPECT_TRUE(all->inside().requests.empty());
  expect_all_memory_back(*all);
  const auto audited = gate_of(*all).audit;
  std::int64_t equal = 0;
  for (const auto& kind : audited.rows) {
    equal += kind[0];
    EXPECT_EQ(kind[1], 0);
  }
  EXPECT_GT(equal, 100);
  // The last one's client.
  EXPECT_EQ(all->system.registry().running(), actors_before + 1);
}

}  // namespace
}  // namespace vouch::actors
