// list: everything a scenario can name, with parameters and help, from the registries and catalogues.
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
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

using Json = nlohmann::ordered_json;

// One thing that a scenario can name.
struct Entry {
  std::string name;
  std::string help;
  std::vector<FieldInfo> fields;
  Json figures = Json::object();  // for programs: what the help says in words
};

using Entries = std::vector<Entry>;

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

std::string text_of(const Entries& entries) {
  std::size_t width = 20;
  for (const Entry& entry : entries) width = std::max(width, entry.name.size());
  std::string text;
  for (const Entry& entry : entries) {
    const std::string help =
        entry.help.empty() ? "" : fmt::format("{:<{}} {}", "", width - entry.name.size(), entry.help);
    text += "  " + entry.name + help + '\n' + fields_text(entry.fields, "    ");
  }
  return text;
}

Json json_of(const std::vector<FieldInfo>& fields) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json list = Json::array();
  for (const FieldInfo& field : fields) {
    Json one = {{"name", field.name}, {"help", field.help}, {"type", name_of(field.type)}};
    one["list"] = field.list;
    one["required"] = field.required;
    one["default"] = field.default_text == "null" ? Json(nullptr) : or_null(field.default_text);
    one["minimum"] = or_null(field.minimum);
    one["maximum"] = or_null(field.maximum);
    one["choices"] = field.choices;
    one["parameters"] = json_of(field.fields);
    list.push_back(std::move(one));
  }
  return list;
}

Json json_of(const Entries& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    Json one = {{"name", entry.name}};
    if (!entry.help.empty()) one["help"] = entry.help;
    one.update(entry.figures);
    if (!entry.fields.empty()) one["parameters"] = json_of(entry.fields);
    list.push_back(std::move(one));
  }
  return list;
}

// `part`: which part of a scenario names it, where a kind has several.
template <class Interface>
Entries plug_ins(const std::string& part = "") {
  Entries entries;
  const auto& registry = Registry<Interface>::instance();
  for (const std::string& name : registry.names()) {
    const auto* entry = registry.find(name);
    entries.push_back(
        {name, (part.empty() ? "" : part + ": ") + entry->help, entry->fields(), Json::object()});
    if (!part.empty()) entries.back().figures["part"] = part;
  }
  return entries;
}

Entries rules() {
  Entries all = plug_ins<WaitingOrder>("waiting_order");
  for (const Entries& more :
       {plug_ins<BatchRule>("batch"), plug_ins<AdmissionRule>("admission"), plug_ins<VictimRule>("victim")}) {
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
                       {{"layers", model.layers},
                        {"hidden", model.hidden},
                        {"parameters", parameter_count(model)},
                        {"max_position", model.max_position}}});
  }
  return entries;
}

Entries named(const std::vector<std::string>& names) {
  Entries entries;
  for (const std::string& name : names) entries.push_back({name, "", {}, Json::object()});
  return entries;
}

using Section = std::pair<const char*, std::function<Entries()>>;

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections = {{"scenarios", [] { return named(shipped_scenarios()); }},
                                                 {"models", models},
                                                 {"devices", [] { return named(known_devices()); }},
                                                 {"presets", [] { return plug_ins<Preset>(); }},
                                                 {"rules", rules},
                                                 {"routers", [] { return plug_ins<Router>(); }},
                                                 {"cost-models", [] { return plug_ins<CostModel>(); }},
                                                 {"arrivals", [] { return plug_ins<ArrivalProcess>(); }},
                                                 {"lengths", [] { return plug_ins<LengthDistribution>(); }}};
  return kSections;
}

class List final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    std::vector<std::string> kinds;
    for (const Section& section : sections()) kinds.emplace_back(section.first);
    arguments.optional_word("KIND", kind_, "One of " + join(kinds, ", ") + "; all by default.");
    arguments.flag("--json", json_, kJsonHelp);
  }

  ExitCode run(Terminal& terminal) override {
    std::vector<std::string> kinds;
    Json all = Json::object();
    for (const auto& [name, entries] : sections()) {
      kinds.emplace_back(name);
      if (!kind_.empty() && kind_ != name) continue;
      all[name] = Json::array();
      if (json_) {
        all[name] = json_of(entries());
      } else {
        terminal.out(std::string(name) + ":\n" + text_of(entries()));
      }
    }
    if (json_ && !all.empty()) terminal.out(all.dump(2) + '\n');
    if (!all.empty()) return ExitCode::kOk;
    throw UsageError("servetwin list: unknown kind " + kind_ + suggestion(kind_, kinds) + "; there are " +
                     join(kinds, ", "));
  }

 private:
  std::string kind_;
  bool json_ = false;
};

const Registered<Verb, List> kList{"list", "Shows what a scenario can name, with parameters."};

}  // namespace
}  // namespace servetwin
