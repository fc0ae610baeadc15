// list: everything a scenario can name, with parameters and help, from the registries and catalogues.
#include <fmt/format.h>
#include <functional>
#include <utility>
#include <vector>

#include "cli/verb.h"
#include "costmodels/cost_model.h"
#include "engine/base/data_files.h"
#include "engine/base/text.h"
#include "engine/models/catalogue.h"
#include "engine/serving/preset.h"
#include "engine/serving/router.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/length_distribution.h"
#include "scenarios/devices.h"
#include "scenarios/scenario_files.h"

namespace servetwin {
namespace {

std::string fields_text(const std::vector<FieldInfo>& fields, const std::string& indent) {
  std::string text;
  for (const FieldInfo& field : fields) {
    std::string kind = field.choices.empty() ? name_of(field.type) : join(field.choices, " | ");
    if (field.list) kind = "list of " + kind;
    const std::string value = field.required               ? "required"
                              : field.default_text.empty() ? "optional"
                                                           : "default " + field.default_text;
    text += fmt::format("{}{:<20} {} ({}, {})\n", indent, field.name, field.help, kind, value);
    text += fields_text(field.fields, indent + "  ");
  }
  return text;
}

template <class Interface>
std::string plug_ins(const std::string& part) {
  std::string text;
  const auto& registry = Registry<Interface>::instance();
  for (const std::string& name : registry.names()) {
    const auto* entry = registry.find(name);
    text += fmt::format("  {:<20} {}{}\n", name, part, entry->help) + fields_text(entry->fields(), "    ");
  }
  return text;
}

std::string rules() {
  return plug_ins<WaitingOrder>("waiting_order: ") + plug_ins<BatchRule>("batch: ") +
         plug_ins<AdmissionRule>("admission: ") + plug_ins<VictimRule>("victim: ");
}

std::string models() {
  std::string text;
  for (const ModelSpec& model : known_models(data_folders())) {
    text += fmt::format("  {:<44} {} layers, hidden {}, {:.1f} billion parameters, {} tokens\n", model.name,
                        model.layers, model.hidden, static_cast<double>(parameter_count(model)) / 1e9,
                        format_grouped(model.max_position));
  }
  return text;
}

std::string names(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& name : all) text += "  " + name + '\n';
  return text;
}

using Section = std::pair<const char*, std::function<std::string()>>;

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections = {
      {"scenarios", [] { return names(shipped_scenarios()); }},
      {"models", models},
      {"devices", [] { return names(known_devices()); }},
      {"presets", [] { return plug_ins<Preset>(""); }},
      {"rules", rules},
      {"routers", [] { return plug_ins<Router>(""); }},
      {"cost-models", [] { return plug_ins<CostModel>(""); }},
      {"arrivals", [] { return plug_ins<ArrivalProcess>(""); }},
      {"lengths", [] { return plug_ins<LengthDistribution>(""); }}};
  return kSections;
}

class List final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    std::vector<std::string> kinds;
    for (const Section& section : sections()) kinds.emplace_back(section.first);
    arguments.optional_word("KIND", kind_, "One of " + join(kinds, ", ") + "; all by default.");
  }

  ExitCode run(Terminal& terminal) override {
    std::vector<std::string> kinds;
    bool found = false;
    for (const auto& [name, print] : sections()) {
      kinds.emplace_back(name);
      if (!kind_.empty() && kind_ != name) continue;
      found = true;
      terminal.out(std::string(name) + ":\n" + print());
    }
    if (found) return ExitCode::kOk;
    throw UsageError("servetwin list: unknown kind " + kind_ + suggestion(kind_, kinds) + "; there are " +
                     join(kinds, ", "));
  }

 private:
  std::string kind_;
};

const Registered<Verb, List> kList{"list", "Shows what a scenario can name, with parameters."};

}  // namespace
}  // namespace servetwin
