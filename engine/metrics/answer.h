// The report for people: one sentence that answers, then a table.
#pragma once

#include <string>

#include "engine/metrics/report.h"

namespace servetwin {

// The words of the deployment, as the sentence begins.
struct Deployment {
  std::string devices;  // "2 × H100"
  std::string model;    // "Llama-3.1-8B"
  std::string load;     // "9 req/s"
};

// "2 × H100, Llama-3.1-8B, 9 req/s: 99.1 % of requests meet TTFT ≤ 500 ms and ITL ≤ 50 ms; the limit is KV
// memory from minute 41; ...". Shares are rounded down, so 100 % means all. One line without a line break.
std::string answer_sentence(const Report& report, const Deployment& deployment);

// "TTFT ≤ 500ms and ITL ≤ 50ms"; of an empty SLO, "the SLO of their class".
std::string slo_text(const Slo& slo);

// Which limits were missed by how many completed requests, in brackets; empty when none was.
std::string misses_text(const ClassReport& c);

// Latencies by class, outcomes, load and limits in aligned columns; every line ends with a line break.
std::string answer_table(const Report& report);

}  // namespace servetwin
