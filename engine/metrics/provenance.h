// Where a report comes from: what a reader needs to make the same run again and to judge its figures.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace servetwin {

// Version and build of this program are added by the writers. Hashes are SHA-256 in hexadecimal; empty: there
// is none.
struct Provenance {
  std::string scenario;       // metadata.name
  std::string scenario_hash;  // of the resolved scenario
  std::string workload;       // RequestSource::describe()
  std::string trace_hash;
  std::string cost_model;
  std::string profile_hash;
  std::string memory;  // where the number of KV blocks comes from
  std::string model;   // also the model_name label of metrics.prom
  std::uint64_t seed = 0;
  std::int64_t events = 0;
  std::uint64_t decisions_digest = 0;
  std::uint64_t timeline_digest = 0;
  // Share of the simulated step time by evidence class: measured, interpolated, extrapolated, analytic. Time
  // is not added up by class, so the worst class of the cost model has all of it.
  std::vector<std::pair<std::string, double>> evidence;
  bool oracle = false;       // some rule knew true output lengths
  bool closed_loop = false;  // arrivals waited for answers, so tails are hidden (coordinated omission)
  std::vector<std::string> not_modelled;  // for example "front-end time"
};

}  // namespace servetwin
