// What the registries and catalogues hold, for the verb list.
#include "cli/list_entries.h"

#include <fmt/format.h>

#include "costmodels/cost_model.h"
#include "engine/base/data_files.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/models/catalogue.h"
#include "engine/serving/preset.h"
#include "engine/serving/router.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/length_distribution.h"
#include "scenarios/devices.h"
#include "scenarios/scenario_files.h"
#include "sim/planner/measures.h"

namespace servetwin {
namespace {

using Entries = std::vector<ListEntry>;

// `part`: which part of a scenario names it, where a kind has several.
template <class Interface>
Entries plug_ins(const std::string& part = "") {
  Entries entries;
  const auto& registry = Registry<Interface>::instance();
  for (const std::string& name : registry.names()) {
    const auto* entry = registry.find(name);
    entries.push_back({name, (part.empty() ? "" : part + ": ") + entry->help, entry->fields(), part, {}});
  }
  return entries;
}

Entries rules() {
  Entries all = plug_ins<WaitingOrder>("waiting_order");
  for (const Entries& more :
       {plug_ins<BatchRule>("batch"), plug_ins<AdmissionRule>("admission"), plug_ins<VictimRule>("victim"),
        plug_ins<PressureRule>("pressure"), plug_ins<YieldRule>("yield"), plug_ins<Predictor>("predictor"),
        plug_ins<StepForm>("step")}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Entries models() {
  Entries entries;
  for (const ModelSpec& model : known_models(data_folders())) {
    const double parameters = static_cast<double>(parameter_count(model));
    entries.push_back({model.name,
                       fmt::format("{} layers, hidden {}, {:.1f} billion parameters, {} tokens", model.layers,
                                   model.hidden, parameters / 1e9, format_grouped(model.max_position)),
                       {},
                       "",
                       {{"layers", model.layers},
                        {"hidden", model.hidden},
                        {"parameters", parameter_count(model)},
                        {"max_position", model.max_position}}});
  }
  return entries;
}

Entries named(const std::vector<std::string>& names) {
  Entries entries;
  for (const std::string& name : names) entries.push_back({name, "", {}, "", {}});
  return entries;
}

Entries compared_measures() {
  Entries entries;
  for (const MeasureInfo& one : measures()) {
    const std::string unit = one.unit.empty() || one.unit == "index" ? "" : ", " + one.unit;
    entries.push_back({one.name, one.label + unit, {}, "", {}});
  }
  return entries;
}

}  // namespace

const std::vector<ListSection>& list_sections() {
  static const std::vector<ListSection> kSections = {
      {"scenarios", [] { return named(shipped_scenarios()); }},
      {"comparisons", [] { return named(shipped_comparisons()); }},
      {"measures", compared_measures},
      {"models", models},
      {"devices", [] { return named(known_devices()); }},
      {"engines", [] { return named(known_engine_sets()); }},
      {"presets", [] { return plug_ins<Preset>(); }},
      {"rules", rules},
      {"routers", [] { return plug_ins<Router>(); }},
      {"cost-models", [] { return plug_ins<CostModel>(); }},
      {"arrivals", [] { return plug_ins<ArrivalProcess>(); }},
      {"lengths", [] { return plug_ins<LengthDistribution>(); }}};
  return kSections;
}

}  // namespace servetwin
