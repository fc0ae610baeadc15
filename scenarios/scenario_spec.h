// The keys of a scenario file, declared once: reader, defaults, help, JSON Schema and docs derive from here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/params.h"
#include "engine/base/time.h"
#include "engine/base/units.h"
#include "engine/workload/slo_spec.h"
#include "scenarios/engine_spec.h"

namespace servetwin {

enum class ApiVersion { kV1 };
enum class DocumentKind { kScenario };

struct MetadataSpec {
  std::string name;
  std::string description;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "Short name of the scenario; names the run directory.", kRequired);
    v("description", description, "What the scenario shows, in a sentence.");
  }
};

struct LayoutSpec {
  std::int64_t tp = 1;
  std::int64_t pp = 1;

  template <class Visitor>
  void fields(Visitor& v);
};

enum class SlowReaderAction : std::uint8_t { kMerge, kPause };  // where a client's window is full
// Requests queue for it where it is modelled; times of 0 mean that it is not, and the report says so.
struct FrontEndSpec {
  std::int64_t servers = 1;
  Duration per_request{0};
  Duration per_token{0};
  Duration per_output{0};
  SlowReaderAction slow_reader = SlowReaderAction::kMerge;
  std::optional<Bytes> bytes_per_token;

  bool takes_time() const { return is_modelled() || per_output > Duration{0}; }
  bool is_modelled() const { return per_request > Duration{0} || per_token > Duration{0}; }

  template <class Visitor>
  void fields(Visitor& v);
};

struct RunSpec {
  Duration warmup{0};
  std::optional<Duration> measure;
  std::optional<Duration> drain;

  template <class Visitor>
  void fields(Visitor& v);
  std::string problem() const {
    return drain && !measure ? "drain follows the measured time: give measure, or leave drain out" : "";
  }
};

struct InitialSpec {
  std::string kv_cache = "cold";

  template <class Visitor>
  void fields(Visitor& v) {
    v("kv_cache", kv_cache, "Prefix cache at the start: cold, or trace:FILE: filled with its prompts.");
  }
};

struct ScenarioSpec {
  std::string model;
  std::string device;
  std::int64_t replicas = 1;
  LayoutSpec layout;
  EngineSpec engine;
  ConfigNode workload;
  ConfigNode router;
  SloSpec slo;
  FrontEndSpec front_end;
  RunSpec run;
  InitialSpec initial;
  ConfigNode cost;
  std::int64_t seed = 1;

  ScenarioSpec();
  template <class Visitor>
  void fields(Visitor& v);
};

struct ScenarioDocument {
  ApiVersion api_version = ApiVersion::kV1;
  DocumentKind kind = DocumentKind::kScenario;
  MetadataSpec metadata;
  ScenarioSpec spec;

  template <class Visitor>
  void fields(Visitor& v) {
    v("apiVersion", api_version, "Version of the file format.", kRequired,
      Choices<ApiVersion>{{"servetwin/v1", ApiVersion::kV1}});
    v("kind", kind, "What the file describes.", kRequired,
      Choices<DocumentKind>{{"Scenario", DocumentKind::kScenario}});
    v("metadata", metadata, "Names the scenario.");
    v("spec", spec, "The scenario itself.");
  }
};

}  // namespace servetwin

#include "scenarios/scenario_fields.h"
