// The answer of a comparison: for people a sentence and a table, for programs JSON and CSV.
#pragma once

#include <string>
#include <vector>

#include "scenarios/comparison_run.h"

namespace servetwin {

// Which is better, by how much, for whom, with what confidence, and why; never more than the intervals allow.
// Without a line break.
std::string verdict_sentence(const ComparisonOutcome& outcome);

// Judged measures, groups and causes in aligned columns, and what the figures do not say.
std::string comparison_table(const ComparisonOutcome& outcome);

// Runs that stalled, and regressions() with their sizes: a line each, without its end.
std::vector<std::string> reasons_to_fail(const ComparisonOutcome& outcome);

inline constexpr int kComparisonSchemaVersion = 1;
// docs/compare.md describes both. Equal comparisons give equal bytes.
std::string comparison_json(const ComparisonOutcome& outcome);
std::string comparison_csv(const ComparisonOutcome& outcome);

// "20.4 %".
std::string percent_text(double part);
// A value with its unit, three significant digits: "25.3 s", "91.2 %", "1,234".
std::string value_text(double value, const MeasureInfo& measure);
// The change with its sign, "-20.4 %" or "+11.1 points", and its interval in the same unit, "-21.8 to -18.9".
std::string change_text(const Estimate& estimate, const MeasureInfo& measure);
std::string interval_text(const Estimate& estimate, const MeasureInfo& measure);

}  // namespace servetwin
