#include "http/receipt.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace vouch::http {

namespace json = boost::json;

namespace {

json::object to_object(const engine::speculation_report& report) {
  json::object out;
  out["verdict"] = report.verdict;
  out["vouched"] = report.vouched;
  out["inexact"] = report.inexact;
  out["scope"] = report.scope;
  out["width"] = report.width;
  out["rounds"] = report.rounds;
  out["drafted"] = report.drafted;
  out["accepted"] = report.accepted;
  out["rejected"] = report.rejected();
  out["audited"] = report.audited;
  out["declined"] = nullptr;
  if (report.declined) {
    const auto name = engine::name_of(*report.declined);
    out["declined"] = json::string_view{name.data(), name.size()};
  }
  if (!report.detail.empty()) {
    out["detail"] = json::value(valid_utf8(report.detail));
  }
  return out;
}

}  // namespace

std::string header_value(const receipt& of) {
  auto text = "verdict=" + of.verdict +
              "; vouched=" + (of.vouched ? "yes" : "no") +
              "; scope=" + (of.scope.empty() ? "none" : of.scope) +
              "; audit=" + (of.audit ? "on" : "off");
  if (of.inexact) text += "; inexact=yes";
  if (of.audited) text += "; audited=" + std::to_string(*of.audited);
  return text;
}

engine::speculation_report merged(const choice_reports& reports) {
  engine::speculation_report all;
  bool first = true;
  for (const auto& [index, one] : reports) {
    if (first || (all.vouched && !one->vouched)) {
      all.verdict = one->verdict;
      all.scope = one->scope;
      all.vouched = one->vouched;
    }
    if (one->declined && !all.declined) {
      all.declined = one->declined;
      all.detail = one->detail;
    }
    all.inexact = all.inexact || one->inexact;
    all.width = std::max(all.width, one->width);
    all.rounds += one->rounds;
    all.drafted += one->drafted;
    all.accepted += one->accepted;
    all.audited += one->audited;
    first = false;
  }
  return all;
}

receipt settled(const receipt& at_start, const choice_reports& reports) {
  if (reports.empty()) return at_start;
  auto all = merged(reports);
  receipt out;
  out.verdict = std::move(all.verdict);
  out.vouched = all.vouched;
  out.inexact = all.inexact;
  out.scope = std::move(all.scope);
  out.audit = at_start.audit || all.audited > 0;
  out.audited = all.audited;
  return out;
}

json::object report_object(const receipt& at_start,
                           const choice_reports& reports) {
  auto all = merged(reports);
  if (reports.empty()) {
    all.verdict = at_start.verdict;
    all.vouched = at_start.vouched;
    all.inexact = at_start.inexact;
    all.scope = at_start.scope;
  }
  auto out = to_object(all);
  if (reports.size() > 1) {
    json::array choices;
    for (const auto& [index, one] : reports) {
      auto choice = to_object(*one);
      choice["index"] = index;
      choices.push_back(std::move(choice));
    }
    out["choices"] = std::move(choices);
  }
  return out;
}

}  // namespace vouch::http
