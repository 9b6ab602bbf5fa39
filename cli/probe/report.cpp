#include "cli/probe/report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

#include <boost/json.hpp>

namespace vouch::cli::probe {
namespace {

namespace json = boost::json;

std::string difference(const engine::probe_line& line) {
  if (!line.showed_nothing.empty()) return line.showed_nothing;
  if (!line.first) return line.tally.rows > 0 ? "none" : "";
  std::ostringstream text;
  text << line.first->where << ", position " << line.first->position << ", row "
       << line.first->row;
  if (line.first->total_bytes > 0) {
    text << ", " << line.first->differing_bytes << " of "
         << line.first->total_bytes << " bytes";
  }
  return text.str();
}

json::object to_json(const engine::row_tally& tally) {
  return {{"rows", tally.rows},          {"sampled", tally.sampled},
          {"kv_rows", tally.kv_rows},    {"rounds", tally.rounds},
          {"accepted", tally.accepted},  {"rejected", tally.rejected},
          {"positions", tally.positions}};
}

}  // namespace

result result_of(const outcome& found) {
  const auto& verdicts = found.probed->verdicts();
  std::vector<const engine::verdict*> all{&verdicts.alone, &verdicts.batch};
  for (const auto& [width, each] : verdicts.widths) all.push_back(&each);
  const auto any = [&all](auto is) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto* each) { return is(*each); });
  };
  if (any([](const auto& each) { return each.wrong(); })) {
    return result::differs;
  }
  const bool missing = any([](const auto& each) { return !each.equal(); });
  return missing || !found.declined.empty() ? result::not_run : result::holds;
}

void print_head() {
  std::cout << std::left << std::setw(8) << "width" << std::setw(46) << "mix"
            << std::setw(30) << "accept pattern" << std::right << std::setw(8)
            << "rows" << std::setw(9) << "kv rows" << std::setw(9) << "ms"
            << "  first difference\n";
}

void print_line(const engine::probe_line& line) {
  const auto covers = line.covers.empty() ? std::string{"-"} : line.covers;
  std::cout << std::left << std::setw(7) << covers << ' ' << std::setw(45)
            << line.scenario << ' ' << std::setw(29) << line.patterns << ' '
            << std::right << std::setw(8) << line.tally.rows << std::setw(9)
            << line.tally.kv_rows << std::setw(9) << std::fixed
            << std::setprecision(0) << line.seconds * 1e3 << "  "
            << difference(line) << '\n'
            << std::flush;
}

void print_end(const outcome& found) {
  const auto& probed = *found.probed;
  const auto& verdicts = probed.verdicts();
  std::cout << "\none sequence a step: " << describe(verdicts.alone)
            << "\nbatched: " << describe(verdicts.batch) << '\n';
  for (const auto& [width, each] : verdicts.widths) {
    std::cout << "width " << width << ": " << describe(each) << '\n';
  }
  std::cout << "\nrows compared, by accept pattern:";
  for (const auto& [pattern, tally] : probed.by_pattern()) {
    std::cout << ' ' << name_of(pattern) << ' ' << tally.rows;
  }
  std::int64_t most = 0;
  std::int64_t preemptions = 0;
  std::int64_t hits = 0;
  for (const auto& line : probed.lines()) {
    most = std::max(most, line.sequences);
    preemptions += line.preemptions;
    hits += line.cache_hits;
  }
  std::cout << "\nin " << probed.lines().size() << " mixes of 1 to " << most
            << " sequences, with " << preemptions << " preemptions and " << hits
            << " prefixes from the cache";
  const auto& all = probed.total();
  std::cout << "\nin all " << all.rows << " rows of logits ("
            << all.rows - all.sampled << " greedy, " << all.sampled
            << " sampled) and " << all.kv_rows << " of K and V, " << all.rounds
            << " blocks, " << all.accepted << " drafts accepted and "
            << all.rejected << " rejected, in " << std::fixed
            << std::setprecision(1) << found.seconds << " s\n";
  if (!found.declined.empty()) {
    std::cout << "drafter: " << found.declined << '\n';
  }
  constexpr const char* words[] = {"holds", "does not hold",
                                   "was not measured completely"};
  std::cout << words[static_cast<std::size_t>(result_of(found))] << '\n';
}

std::string to_json(const options& chosen, const outcome& found) {
  const auto& probed = *found.probed;
  json::array lines;
  for (const auto& line : probed.lines()) {
    json::value first;
    if (line.first) {
      first = json::object{{"position", line.first->position},
                           {"row", line.first->row},
                           {"differing_bytes", line.first->differing_bytes},
                           {"total_bytes", line.first->total_bytes},
                           {"where", line.first->where}};
    }
    lines.push_back(json::object{{"covers", line.covers},
                                 {"mix", line.scenario},
                                 {"patterns", line.patterns},
                                 {"sequences", line.sequences},
                                 {"compared", to_json(line.tally)},
                                 {"preemptions", line.preemptions},
                                 {"cache_hits", line.cache_hits},
                                 {"first", std::move(first)},
                                 {"showed_nothing", line.showed_nothing},
                                 {"seconds", line.seconds}});
  }
  json::object patterns;
  for (const auto& [pattern, tally] : probed.by_pattern()) {
    patterns[name_of(pattern)] = to_json(tally);
  }
  return json::serialize(json::object{
             {"model", chosen.model},
             {"scope_id", scope_id(found.scope)},
             {"scope", scope_text(found.scope)},
             {"drafter", found.drafter},
             {"declined", found.declined.empty() ? json::value(nullptr)
                                                 : json::value(found.declined)},
             {"holds", result_of(found) == result::holds},
             {"verdicts", json::parse(json_of(probed.verdicts()))},
             {"compared", to_json(probed.total())},
             {"by_pattern", std::move(patterns)},
             {"scenarios", std::move(lines)},
             {"device_seconds", probed.seconds()},
             {"seconds", found.seconds}}) +
         '\n';
}

}  // namespace vouch::cli::probe
