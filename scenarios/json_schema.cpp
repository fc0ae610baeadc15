// Turns the fields of the scenario's parts and of every plug-in into JSON Schema.
#include "scenarios/json_schema.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "costmodels/cost_model.h"
#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "engine/serving/router.h"
#include "engine/serving/rules.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/length_distribution.h"
#include "engine/workload/workload_spec.h"
#include "scenarios/comparison_spec.h"
#include "scenarios/devices.h"
#include "scenarios/scenario_spec.h"
#include "sim/planner/measures.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNumber = "[+-]?[0-9][0-9_]*([.][0-9_]*)?([eE][+-]?[0-9]+)?";

Json schema_of(const FieldInfo& field, const std::string& path);

// Text of a number with a unit, or a plain number when there are no units.
Json number_schema(const FieldInfo& field) {
  const bool whole = field.type != FieldType::kNumber;
  Json schema = {{"type", {whole ? "integer" : "number", "string"}},
                 {"pattern", std::string("^") + kNumber + '$'}};
  const auto bound = [&](const char* key, const std::string& text) {
    if (const auto value = parse_decimal(text)) schema[key] = *value.value;
  };
  bound(field.above_minimum ? "exclusiveMinimum" : "minimum", field.minimum);
  bound("maximum", field.maximum);
  return schema;
}

Json unit_schema(FieldType type) {
  static const std::map<FieldType, const char*> units = {
      {FieldType::kDuration, "(ns|us|ms|s|min|h)"},
      {FieldType::kBytes, "([kMGT]?B|[KMGT]iB)"},
      {FieldType::kBandwidth, "([kMGT]?B/s|[KMGT]iB/s|[kMGT]?bps|[kMGT]?b/s)"},
      {FieldType::kFlopRate, "[kMGTP]?FLOP/s"},
      {FieldType::kRate, "(/s|req/s|requests/s)"}};
  return {{"type", "string"}, {"pattern", std::string("^") + kNumber + " ?" + units.at(type) + '$'}};
}

Json object_schema(const std::vector<FieldInfo>& fields, const std::string& path) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const FieldInfo& field : fields) {
    properties[field.name] = schema_of(field, path.empty() ? field.name : path + '.' + field.name);
    if (field.required) required.push_back(field.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

// NAME where no parameter is required, or {key: NAME, its parameters}.
template <class Interface>
Json plugin_schema(const std::string& key) {
  const auto& registry = Registry<Interface>::instance();
  Json names = Json::array();
  Json options = Json::array();
  for (const std::string& name : registry.names()) {
    const auto* entry = registry.find(name);
    const std::vector<FieldInfo> fields = entry->fields();
    Json schema = object_schema(fields, "");
    schema["description"] = entry->help;
    schema["properties"][key] = {{"const", name}};
    schema["required"].push_back(key);
    options.push_back(std::move(schema));
    names.push_back(name);
  }
  options.push_back({{"enum", std::move(names)}});
  return {{"oneOf", std::move(options)}};
}

template <class Interface>
Json name_schema() {
  return {{"enum", Registry<Interface>::instance().names()}};
}

Json predictor_schema() {
  Json schema = name_schema<Predictor>();
  schema["enum"].push_back(kNoPredictor);
  return schema;
}

Json length_schema() {
  Json schema = plugin_schema<LengthDistribution>("distribution");
  schema["oneOf"].push_back({{"type", "integer"}, {"minimum", 1}});
  return schema;
}

Json max_tokens_schema() {
  const Json number = {{"type", "number"}, {"exclusiveMinimum", 0}};
  Json schema = length_schema();
  schema["oneOf"].push_back({{"const", "output"}});
  for (const char* key : {"fixed", "multiple_of_output"}) {
    schema["oneOf"].push_back({{"type", "object"},
                               {"properties", {{key, number}}},
                               {"required", {key}},
                               {"additionalProperties", false}});
  }
  return schema;
}

Json lengths_schema() {
  const Json text = {{"type", "string"}};
  return {{"type", "object"},
          {"properties", {{"input", length_schema()}, {"output", length_schema()}, {"table", text}}},
          {"additionalProperties", false}};
}

Json workload_schema() {
  Json schema = object_schema(describe_params<WorkloadSpec>(), "workload");
  Json& trace = schema["properties"]["trace"];
  trace = {{"anyOf", {trace, {{"type", "string"}}}}};
  return {{"anyOf", {std::move(schema), {{"type", "string"}, {"pattern", "^trace:"}}}}};
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// A scenario by name or file, or the keys of its spec, of which variants may give some.
Json base_schema() {
  Json spec = object_schema(describe_params<ScenarioSpec>(), "spec");
  spec.erase("required");
  return {{"anyOf", {std::move(spec), {{"type", "string"}}}}};
}

Json seeds_schema() {
  const Json seed = {{"type", "integer"}, {"minimum", 0}};
  return {{"anyOf",
           {{{"type", "integer"}, {"minimum", 1}, {"maximum", kMostSeeds}},
            {{"type", "array"}, {"items", seed}, {"minItems", 1}, {"uniqueItems", true}}}}};
}

Json measure_schema() {
  Json names = Json::array();
  for (const MeasureInfo& measure : measures()) {
    if (measure.better != Better::kNeither) names.push_back(measure.name);
  }
  return {{"enum", std::move(names)}};
}

// Fields that another reader reads, and names that a registry or catalogue knows; null for all others.
Json special_schema(const std::string& path) {
  if (path == "spec.base") return base_schema();
  if (path == "spec.seeds") return seeds_schema();
  if (path == "spec.judge") return measure_schema();
  if (path == "spec.set" || path == "spec.variants.set") return {{"type", "object"}};
  if (path == "spec.variants.preset") return name_schema<Preset>();
  if (path == "spec.workload") return workload_schema();
  if (path == "spec.cost") return plugin_schema<CostModel>("model");
  if (path == "spec.router") return plugin_schema<Router>("name");
  if (path == "spec.engine.preset") return name_schema<Preset>();
  if (path == "spec.engine.rules.waiting_order") return name_schema<WaitingOrder>();
  if (path == "spec.engine.rules.batch") return name_schema<BatchRule>();
  if (path == "spec.engine.rules.admission") return name_schema<AdmissionRule>();
  if (path == "spec.engine.rules.victim") return name_schema<VictimRule>();
  if (path == "spec.engine.rules.pressure") return name_schema<PressureRule>();
  if (path == "spec.engine.rules.yield") return name_schema<YieldRule>();
  if (path == "spec.engine.rules.predictor") return predictor_schema();
  if (path == "spec.engine.rules.step") return name_schema<StepForm>();
  if (path == "spec.engine.rule_parameters") return {{"type", "object"}};
  if (path == "spec.device") return {{"type", "string"}, {"examples", known_devices()}};
  if (path == "workload.arrivals") return plugin_schema<ArrivalProcess>("process");
  if (ends_with(path, ".lengths")) return lengths_schema();
  if (ends_with(path, ".max_tokens")) return max_tokens_schema();
  if (ends_with(path, ".shared_prefix.tokens") || ends_with(path, ".sessions.turns")) return length_schema();
  return nullptr;
}

Json leaf_schema(const FieldInfo& field, const std::string& path) {
  if (Json special = special_schema(path); !special.is_null()) return special;
  switch (field.type) {
    case FieldType::kBool:
      return {{"type", "boolean"}};
    case FieldType::kText:
      return {{"type", {"string", "number", "boolean"}}};
    case FieldType::kInteger:
    case FieldType::kNumber:
    case FieldType::kTokens:
    case FieldType::kBlocks:
      return number_schema(field);
    case FieldType::kChoice:
      return {{"enum", field.choices}};
    case FieldType::kObject:
      return object_schema(field.fields, path);
    case FieldType::kAny:
      return Json::object();
    default:
      return unit_schema(field.type);
  }
}

Json schema_of(const FieldInfo& field, const std::string& path) {
  Json schema = leaf_schema(field, path);
  if (field.list) schema = {{"type", "array"}, {"items", std::move(schema)}};
  // The reader takes null for "as if it were not there".
  if (!field.required) schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  schema["description"] = field.help;
  if (!field.default_text.empty() && field.default_text != "null") schema["default"] = field.default_text;
  return schema;
}

}  // namespace

std::string json_schema() {
  Json schema = {{"$schema", kSchemaUrl}, {"title", "ServeTwin scenario"}};
  schema.update(object_schema(describe_params<ScenarioDocument>(), ""));
  schema["properties"]["extends"] = {{"type", "string"}, {"description", "Lays this file upon another one."}};
  // A file that extends another may leave out what that one gives.
  Json strict = {{"required", schema["required"]}};
  strict["properties"]["spec"]["required"] = schema["properties"]["spec"]["anyOf"][0]["required"];
  schema["properties"]["spec"]["anyOf"][0].erase("required");
  schema.erase("required");
  schema["if"] = {{"not", {{"required", {"extends"}}}}};
  schema["then"] = std::move(strict);
  return schema.dump(2) + '\n';
}

std::string comparison_schema() {
  Json schema = {{"$schema", kSchemaUrl}, {"title", "ServeTwin comparison"}};
  schema.update(object_schema(describe_params<ComparisonDocument>(), ""));
  return schema.dump(2) + '\n';
}

}  // namespace servetwin
