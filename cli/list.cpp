// list: everything a scenario can name, with parameters and help, from the registries and catalogues.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/list_entries.h"
#include "cli/verb.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

using Entries = std::vector<ListEntry>;

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
  for (const ListEntry& entry : entries) width = std::max(width, entry.name.size());
  std::string text;
  for (const ListEntry& entry : entries) {
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
  for (const ListEntry& entry : entries) {
    Json one = {{"name", entry.name}};
    if (!entry.help.empty()) one["help"] = entry.help;
    if (!entry.part.empty()) one["part"] = entry.part;
    for (const auto& [name, value] : entry.figures) one[name] = value;
    if (!entry.fields.empty()) one["parameters"] = json_of(entry.fields);
    list.push_back(std::move(one));
  }
  return list;
}

class List final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    std::vector<std::string> kinds;
    for (const ListSection& section : list_sections()) kinds.emplace_back(section.first);
    arguments.optional_word("KIND", kind_, "One of " + join(kinds, ", ") + "; all by default.");
    arguments.flag("--json", json_, kJsonHelp);
  }

  ExitCode run(Terminal& terminal) override {
    std::vector<std::string> kinds;
    Json all = Json::object();
    for (const auto& [name, entries] : list_sections()) {
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
