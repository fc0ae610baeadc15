// Medians, because single published runs can be wrong; the worst are named, because they teach most.
#include "scenarios/published/score.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "engine/base/quantile.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

ErrorSummary summary_of(const std::vector<double>& errors, std::size_t figures) {
  ErrorSummary summary;
  summary.figures = figures;
  summary.predicted = errors.size();
  if (errors.empty()) return summary;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    summary.mean += std::abs(error) / static_cast<double>(errors.size());
  }
  summary.median = quantile(sizes, 0.5);
  summary.p90 = quantile(sizes, 0.9);
  summary.signed_median = quantile(errors, 0.5);
  return summary;
}

using Rows = std::vector<const PublishedFigure*>;

std::vector<double> errors_of(const Rows& rows) {
  std::vector<double> errors;
  for (const PublishedFigure* row : rows) {
    if (row->predicted) errors.push_back(row->error());
  }
  return errors;
}

void find_worst(const Rows& rows, MetricScore& score) {
  std::map<std::string, Rows> groups;
  std::vector<WorstCase> cases;
  for (const PublishedFigure* row : rows) {
    groups[row->group].push_back(row);
    if (row->predicted) cases.push_back({row->condition, row->error()});
  }
  for (const auto& [name, group] : groups) {
    const double median = summary_of(errors_of(group), group.size()).median;
    if (median <= score.worst_group_median) continue;
    score.worst_group = name;
    score.worst_group_median = median;
  }
  constexpr std::size_t kNamed = 3;
  std::stable_sort(cases.begin(), cases.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.error) > std::abs(b.error); });
  cases.resize(std::min(cases.size(), kNamed));
  score.worst = std::move(cases);
}

std::vector<OtherScore> others_of(const Rows& rows) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> errors;  // its, ours
  for (const PublishedFigure* row : rows) {
    for (const auto& [name, value] : row->others) {
      errors[name].first.push_back(value / row->measured - 1);
      if (row->predicted) errors[name].second.push_back(row->error());
    }
  }
  std::vector<OtherScore> others;
  for (const auto& [name, both] : errors) {
    others.push_back(
        {name, summary_of(both.first, both.first.size()), summary_of(both.second, both.first.size())});
  }
  return others;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

std::vector<MetricScore> score(const std::vector<PublishedFigure>& figures) {
  std::vector<std::pair<std::string, Rows>> metrics;
  for (const PublishedFigure& figure : figures) {
    if (!figure.scored) continue;
    auto found = std::find_if(metrics.begin(), metrics.end(),
                              [&](const auto& metric) { return metric.first == figure.metric; });
    if (found == metrics.end()) found = metrics.insert(metrics.end(), {figure.metric, {}});
    found->second.push_back(&figure);
  }
  std::vector<MetricScore> scores;
  for (const auto& [metric, rows] : metrics) {
    MetricScore one;
    one.metric = metric;
    one.all = summary_of(errors_of(rows), rows.size());
    find_worst(rows, one);
    one.others = others_of(rows);
    scores.push_back(std::move(one));
  }
  return scores;
}

std::string score_text(const std::string& set,
                       const std::string& source,
                       const std::vector<MetricScore>& scores) {
  std::string text = fmt::format(
      "### {}\nSource: {}.\n\n| metric | n | predicted | median | mean | p90 | signed | worst group |\n"
      "|---|---|---|---|---|---|---|---|\n",
      set, source);
  for (const MetricScore& one : scores) {
    if (one.all.predicted == 0) {
      text += fmt::format("| {} | {} | 0 | - | - | - | - | - |\n", one.metric, one.all.figures);
      continue;
    }
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {:+.1f} % | {} {} |\n", one.metric, one.all.figures,
                    one.all.predicted, percent(one.all.median), percent(one.all.mean), percent(one.all.p90),
                    100 * one.all.signed_median, one.worst_group, percent(one.worst_group_median));
  }
  text += "\nWorst cases: ";
  std::vector<std::string> worst;
  for (const MetricScore& one : scores) {
    for (const WorstCase& at : one.worst)
      worst.push_back(fmt::format("{} of {} ({:+.0f} %)", one.metric, at.condition, 100 * at.error));
  }
  text += join(worst, "; ") + ".\n";
  const bool others =
      std::any_of(scores.begin(), scores.end(), [](const auto& s) { return !s.others.empty(); });
  if (!others) return text;
  text += "\n| metric | other predictor | n | its median | ours on those rows |\n|---|---|---|---|---|\n";
  for (const MetricScore& one : scores) {
    for (const OtherScore& other : one.others) {
      text += fmt::format("| {} | {} | {} | {} | {} |\n", one.metric, other.name, other.its.figures,
                          percent(other.its.median), percent(other.ours.median));
    }
  }
  return text;
}

std::string figures_csv(const std::vector<PublishedFigure>& figures) {
  std::string text = "group,condition,metric,measured,predicted,error,scored,note\n";
  for (const PublishedFigure& figure : figures) {
    std::string note = figure.note;
    std::replace(note.begin(), note.end(), '\n', ' ');
    const std::string predicted = figure.predicted ? format_number(*figure.predicted) : "";
    const std::string error = figure.predicted ? fmt::format("{:.4f}", figure.error()) : "";
    text += join({csv_field(figure.group), csv_field(figure.condition), csv_field(figure.metric),
                  format_number(figure.measured), predicted, error, figure.scored ? "true" : "false",
                  csv_field(note)},
                 ",") +
            '\n';
  }
  return text;
}

}  // namespace servetwin
