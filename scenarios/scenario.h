// A scenario: everything a run depends on, read from one file, checked as a whole, each value with its
// origin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costmodels/device_spec.h"
#include "costmodels/engine_set.h"
#include "costmodels/memory_model.h"
#include "costmodels/operator_profile.h"
#include "engine/base/config_node.h"
#include "engine/models/spec.h"
#include "engine/workload/workload_spec.h"
#include "scenarios/kv_groups.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

// What the command line adds; it wins over the file, which wins over the file it extends, then defaults.
struct ScenarioOverrides {
  std::vector<std::string> set;  // key.path=value; the path starts at `spec` unless it names a root key
  std::optional<std::string> workload;  // trace:FILE, in place of the scenario's own workload
};

struct Scenario {
  ScenarioDocument document;
  WorkloadSpec workload;
  ModelSpec model;
  DeviceSpec device;
  std::optional<EngineSet> engine_set;       // that the cost model names
  std::optional<OperatorProfile> operators;  // of the device, where the cost model uses it
  KvGroups kv_groups;                        // what the model's layers keep
  std::optional<KvMemory> memory;            // where the capacity is given as a memory_fraction
  ConfigNode resolved;                       // every value with its origin, defaults filled in
  std::string source;                        // the file it was read from

  const ScenarioSpec& spec() const { return document.spec; }
  Blocks num_blocks() const { return memory ? memory->num_blocks : *spec().engine.num_blocks; }
  // Whether requests pause for clients that read slowly.
  bool slow_readers_pause() const;
  Tokens max_model_len() const { return *spec().engine.max_model_len; }
};

// A file, "-" for standard input, or the short name of a shipped scenario, such as quickstart. Throws
// ConfigError with every problem found.
Scenario load_scenario(const std::string& name_or_path, const ScenarioOverrides& overrides = {});
// The same for a text; relative files it names are looked for beside `file`.
Scenario parse_scenario(const std::string& text,
                        const std::string& file,
                        const ScenarioOverrides& overrides = {});

// The same for a tree that load_extended() made; it is named `file`.
Scenario resolve_scenario(ConfigNode root, const std::string& file, const ScenarioOverrides& overrides = {});
// The path from the root of what the command line calls `key`, which may go on after it: keys start at
// `spec`, where nearly all are, unless they name one beside it.
std::string path_from_root(const std::string& key);

// The resolved scenario as a file that reads back as the same scenario, from any folder.
std::string write_scenario(const Scenario& scenario);

// SHA-256, 64 hex digits, of the resolved values. Files count by name, so the hash is the same on every
// machine.
std::string scenario_hash(const Scenario& scenario);

}  // namespace servetwin
