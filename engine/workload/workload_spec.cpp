// Reads the `workload:` part of a scenario and puts its source together.
#include "engine/workload/workload_spec.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "engine/base/ids.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/workload/plugin_choice.h"
#include "engine/workload/synthetic_source.h"
#include "engine/workload/trace_source.h"

namespace servetwin {
namespace {

constexpr const char* kTracePrefix = "trace:";

ConfigNode map_with(const ConfigNode& place, const std::string& key, ConfigNode value) {
  ConfigNode map;
  map.kind = ConfigNode::Kind::kMap;
  map.place = place.place;
  map.path = place.path;
  map.origin = place.origin;
  value.path = place.path.empty() ? key : place.path + "." + key;
  map.entries.emplace_back(key, std::move(value));
  return map;
}

// Both short forms written out: `workload: trace:FILE` and `trace: FILE`.
ConfigNode without_short_forms(const ConfigNode& node) {
  ConfigNode full = node;
  if (node.is_scalar() && node.text.rfind(kTracePrefix, 0) == 0) {
    ConfigNode file = node;
    file.text = node.text.substr(std::string(kTracePrefix).size());
    full = map_with(node, "trace", file);
  }
  for (auto& [key, value] : full.entries) {
    if (key == "trace" && value.is_scalar()) value = map_with(value, "file", value);
  }
  return full;
}

std::string classes_problem(const std::vector<ClassSpec>& classes) {
  if (classes.size() > static_cast<std::size_t>(kMaxClasses)) {
    return std::to_string(classes.size()) + " classes, at most " + std::to_string(kMaxClasses) +
           " are possible";
  }
  std::set<std::string> names;
  double weight = 0;
  for (const ClassSpec& one : classes) {
    if (!names.insert(one.name).second) return "two classes are named " + one.name;
    weight += one.weight;
  }
  return classes.empty() || weight > 0 ? "" : "every class has weight 0";
}

std::string drawn_key(const TrafficSpec& traffic) {
  if (!traffic.lengths.is_null()) return "lengths";
  if (traffic.sessions) return "sessions";
  return traffic.shared_prefix ? "shared_prefix" : "";
}

std::string trace_problem(const WorkloadSpec& spec) {
  std::string key = drawn_key(spec.traffic);
  for (const ClassSpec& one : spec.classes) key = key.empty() ? drawn_key(one.traffic) : key;
  if (!spec.arrivals.is_null()) key = "arrivals";
  if (spec.closed_loop) key = "closed_loop";
  return key.empty()
             ? ""
             : "a trace brings its own arrivals, lengths and content: " + key + " does not go with it";
}

std::string synthetic_problem(const WorkloadSpec& spec) {
  if (spec.arrivals.is_null() == !spec.closed_loop) return "give one of arrivals, closed_loop and trace";
  if (!spec.num_requests && !spec.duration)
    return "give num_requests or duration: nothing else ends the workload";
  if (spec.classes.empty() && spec.traffic.lengths.is_null()) return "lengths are missing";
  for (const ClassSpec& one : spec.classes) {
    if (one.traffic.lengths.is_null() && spec.traffic.lengths.is_null()) {
      return "class " + one.name + " has no lengths";
    }
  }
  return "";
}

struct Classes {
  std::vector<Traffic> traffic;
  std::vector<std::string> names;
  std::vector<double> weights;
};

Classes make_classes(const WorkloadSpec& spec, std::uint64_t seed) {
  Classes result;
  const std::vector<ClassSpec> declared =
      spec.classes.empty() ? std::vector{ClassSpec{"default", 1, {}, {}}} : spec.classes;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const ClassSpec& one = declared[i];
    // Prefix groups that the workload declares are the same for all its classes.
    const auto owner = one.traffic.shared_prefix ? static_cast<std::uint32_t>(i + 1) : 0U;
    result.traffic.emplace_back(one.traffic.over(spec.traffic), ClassId{static_cast<std::uint8_t>(i)}, owner,
                                seed);
    result.names.push_back(one.name);
    result.weights.push_back(one.weight);
  }
  return result;
}

std::unique_ptr<RequestSource> make_trace_source(const WorkloadSpec& spec, std::uint64_t seed) {
  Classes classes = make_classes(spec, seed);
  const std::filesystem::path file(spec.trace->file);
  const std::string path =
      file.is_absolute() ? file.string() : (std::filesystem::path(spec.base_folder) / file).string();
  TraceParts parts{*spec.trace,
                   seed,
                   spec.num_requests,
                   spec.duration,
                   std::move(classes.traffic),
                   std::move(classes.names)};
  return std::make_unique<TraceSource>(decompressed(read_file(path), path), path, std::move(parts));
}

std::string description_of(const WorkloadSpec& spec, const Classes& classes) {
  std::string text = spec.closed_loop ? "closed loop of " + std::to_string(spec.closed_loop->users) + " users"
                                      : split_choice(spec.arrivals, "process", "").first + " arrivals";
  for (std::size_t i = 0; i < classes.names.size(); ++i) {
    text += "; " + classes.names[i] + ": " + classes.traffic[i].describe();
  }
  return text;
}

// Before a run that would not end in a lifetime; a number of requests has its own bound.
void check_count(const WorkloadSpec& spec, const ArrivalProcess& arrivals) {
  if (spec.num_requests || !spec.duration) return;
  const double expected = arrivals.expected(*spec.duration);
  if (expected <= static_cast<double>(kMaxRequests)) return;
  throw ConfigError(Problem{"WKL003", spec.arrivals.place, spec.arrivals.path,
                            "about " + format_grouped(static_cast<std::int64_t>(expected)) +
                                " requests would arrive in " + format_duration(*spec.duration) +
                                ", more than " + format_grouped(kMaxRequests),
                            "lower the rate or duration, or set num_requests"});
}

}  // namespace

std::string WorkloadSpec::problem() const {
  const std::string of_classes = classes_problem(classes);
  if (!of_classes.empty()) return of_classes;
  return trace ? trace_problem(*this) : synthetic_problem(*this);
}

WorkloadSpec read_workload(const ConfigNode& node, const std::string& base_folder) {
  auto spec = read_params<WorkloadSpec>(without_short_forms(node));
  spec.base_folder = base_folder;
  return spec;
}

std::unique_ptr<RequestSource> make_source(const WorkloadSpec& spec, std::uint64_t seed) {
  if (spec.trace) return make_trace_source(spec, seed);
  Classes classes = make_classes(spec, seed);
  SyntheticParts parts;
  parts.seed = seed;
  parts.num_requests = spec.num_requests;
  parts.duration = spec.duration;
  parts.closed_loop = spec.closed_loop;
  parts.description = description_of(spec, classes);
  if (!spec.closed_loop) {
    const ArrivalProcess::MakeContext context{seed, spec.num_requests, spec.arrivals.place,
                                              spec.arrivals.path};
    parts.arrivals =
        make_choice<ArrivalProcess>(spec.arrivals, "process", "{process: poisson, rate: 9/s}", context);
    check_count(spec, *parts.arrivals);
  }
  parts.classes = std::move(classes.traffic);
  parts.class_names = std::move(classes.names);
  parts.class_weights = std::move(classes.weights);
  return std::make_unique<SyntheticSource>(std::move(parts));
}

}  // namespace servetwin
