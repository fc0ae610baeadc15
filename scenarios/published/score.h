// How far predictions are from published figures: by metric, beside what others said of the same rows.
#pragma once

#include <string>
#include <vector>

#include "scenarios/published/published_set.h"

namespace servetwin {

// Of absolute relative errors. Figures that are not scored do not count; those that were refused lower the
// coverage.
struct ErrorSummary {
  std::size_t figures = 0;  // scored, predicted or not
  std::size_t predicted = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double signed_median = 0;  // how far predictions lie too high
};

struct WorstCase {
  std::string condition;
  double error = 0;
};

struct OtherScore {
  std::string name;
  ErrorSummary its;   // on the rows where it says something
  ErrorSummary ours;  // on those rows
};

struct MetricScore {
  std::string metric;
  ErrorSummary all;
  std::string worst_group;  // whose median error is largest
  double worst_group_median = 0;
  std::vector<WorstCase> worst;  // three
  std::vector<OtherScore> others;
};

// In the order in which metrics first occur.
std::vector<MetricScore> score(const std::vector<PublishedFigure>& figures);

// Tables in Markdown.
std::string score_text(const std::string& set,
                       const std::string& source,
                       const std::vector<MetricScore>& scores);
// A line a figure: group, condition, metric, measured, predicted, error, scored, note.
std::string figures_csv(const std::vector<PublishedFigure>& figures);

}  // namespace servetwin
