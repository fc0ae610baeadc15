// A scenario: everything a run depends on, as one tree of self-describing parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/config_node.h"
#include "engine/base/params.h"
#include "scenarios/scenario_spec.h"

namespace servetwin {

// What the command line adds; it wins over the file, which wins over the file it extends, then defaults.
struct ScenarioOverrides {
  std::vector<std::string> set;         // key.path=value, below `spec` unless it starts with spec., metadata. or so
  std::optional<std::string> workload;  // trace:FILE, in place of the scenario's own workload
};

struct Scenario {
  ScenarioDocument document;
  ConfigNode resolved;  // every value with its origin, defaults of the document's own fields filled in
  std::string source;   // file it was read from

  const ScenarioSpec& spec() const { return document.spec; }
};

// A file, "-" for standard input, or the short name of a shipped scenario (`quickstart`, `chat`). Throws ConfigError
// with every problem found.
Scenario load_scenario(const std::string& name_or_path, const ScenarioOverrides& overrides = {});
// The same for a text; relative files it names are looked for beside `file`.
Scenario parse_scenario(const std::string& text, const std::string& file, const ScenarioOverrides& overrides = {});

// The resolved scenario as a file that reads back as the same scenario.
std::string write_scenario(const Scenario& scenario);

// SHA-256, 64 hex digits, of the resolved values. Files count by name, so the hash is the same on every machine.
std::string scenario_hash(const Scenario& scenario);

// What a scenario may hold, for the schema and the docs.
std::vector<FieldInfo> scenario_fields();

}  // namespace servetwin
