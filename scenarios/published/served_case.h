// One run of a real engine, as far as its publication tells, made into a scenario and simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/metrics/statistics.h"
#include "scenarios/scenario.h"

namespace servetwin {

// What a case says of itself; the rest are the preset's defaults.
struct ServedCase {
  std::string name;
  std::string model;
  std::string device;
  std::string layout = "{tp: 1}";
  std::string engine;    // lines of spec.engine, as YAML flow: "preset: vllm-v1, max_num_seqs: 128"
  std::string workload;  // the same of spec.workload
  std::string cost;      // the same of spec.cost
  std::string others{};  // whole lines of spec
};

std::string scenario_text(const ServedCase& one);

// Of measured requests that finished, over all that were added.
struct ServedLatencies {
  Samples ttft;
  Samples tpot;
  Samples e2e;
  std::int64_t outputs = 0;  // tokens
  std::int64_t requests = 0;
  double seconds = 0;  // from the first arrival to the last end, of all runs together

  void merge(const ServedLatencies& other);
};

// Throws ConfigError where the case is refused; a run that stalls is refused too.
ServedLatencies simulate_case(const ServedCase& one, const std::vector<std::string>& set, std::int64_t seed);

// Averages over seeds 1, 2, …
ServedLatencies simulate_case_often(const ServedCase& one, const std::vector<std::string>& set, int seeds);

// A file that is made for a case, such as a trace; it goes with this.
class CaseFile {
 public:
  explicit CaseFile(const std::string& text, const std::string& extension = ".csv");
  ~CaseFile();
  CaseFile(const CaseFile&) = delete;
  CaseFile& operator=(const CaseFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double ms(const std::optional<double>& ns);

}  // namespace servetwin
