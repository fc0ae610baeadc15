// summary.json: the report for programs.
#pragma once

#include <string>

#include "engine/metrics/provenance.h"
#include "engine/metrics/report.h"

namespace servetwin {

inline constexpr int kSummarySchemaVersion = 1;

// The same report and provenance give the same bytes. Names and units: docs/metrics.md.
std::string summary_json(const Report& report, const Provenance& provenance);

}  // namespace servetwin
