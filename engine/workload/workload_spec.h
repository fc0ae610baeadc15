// The `workload:` part of a scenario as self-describing parameters, and the factory that makes a source of
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/params.h"
#include "engine/workload/horizon.h"
#include "engine/workload/slo_spec.h"
#include "engine/workload/source.h"
#include "engine/workload/traces/trace_spec.h"
#include "engine/workload/traffic_spec.h"

namespace servetwin {

// A fixed number of users, each with at most one request outstanding.
struct ClosedLoopSpec {
  std::int64_t users = 1;
  DurationSpec think_time;  // from the end of one conversation to the start of the user's next
  Duration stagger{0};      // the users start evenly over this time
  Duration retry_pause{std::chrono::seconds(1)};

  template <class Visitor>
  void fields(Visitor& v) {
    v("users", users, "Users; each waits for its answer before it sends again.", Range{1, 1'000'000});
    v("think_time", think_time, "Pause of a user between an answer and the next request.");
    v("stagger", stagger, "The users start evenly spread over this time.", Range{Duration{0}, kHorizon});
    v("retry_pause", retry_pause, "Least pause after a request that was rejected, timed out or failed.",
      Range{Duration{1'000'000}, kHorizon});
  }
};

struct ClassSpec {
  std::string name;
  double weight = 1;
  std::optional<SloSpec> slo;  // what is absent here is taken from the scenario
  TrafficSpec traffic;         // what is absent here is taken from the workload

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "Name of the class in reports and in the class column of traces.", kRequired);
    v("weight", weight, "Share of the arrivals, relative to the other classes.", Range{0.0, 1e9});
    v("slo", slo, "What counts as good service for this class; limits it leaves out are the scenario's.");
    traffic.fields(v);
  }
};

struct WorkloadSpec {
  std::optional<std::int64_t> num_requests;
  std::optional<Duration> duration;
  ConfigNode arrivals;  // {process: NAME, its parameters}, or NAME alone
  std::optional<ClosedLoopSpec> closed_loop;
  TrafficSpec traffic;
  std::vector<ClassSpec> classes;
  std::optional<TraceSpec> trace;
  std::string base_folder;  // relative trace paths start here; not a key

  template <class Visitor>
  void fields(Visitor& v) {
    v("num_requests", num_requests, "The workload ends after this many requests.",
      Range{std::int64_t{1}, kMaxRequests});
    v("duration", duration, "No request arrives at or after this time.", Range{Duration{1}, kHorizon});
    v("arrivals", arrivals, "When requests (or conversations) start: {process: poisson, rate: 9/s}.");
    v("closed_loop", closed_loop, "A fixed number of users instead of an arrival process.");
    traffic.fields(v);
    v("classes", classes, "Traffic classes; each may override what the workload says.");
    v("trace", trace, "Replay a recorded trace instead of drawing requests.");
  }
  // What is wrong between the keys, or empty.
  std::string problem() const;
};

// Reads the value of `workload:`; also the short form trace:FILE. Throws ConfigError with everything found.
WorkloadSpec read_workload(const ConfigNode& node, const std::string& base_folder);

// Throws ConfigError for parameters of arrivals, lengths and max_tokens, and for a trace that cannot be
// opened.
std::unique_ptr<RequestSource> make_source(const WorkloadSpec& spec, std::uint64_t seed);

}  // namespace servetwin
