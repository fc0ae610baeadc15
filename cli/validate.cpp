// validate: checks scenarios as a whole, the files they name included, without running them.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/verb.h"
#include "engine/base/text.h"
#include "scenarios/assemble.h"
#include "scenarios/comparison.h"
#include "scenarios/rank_share.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

// What was found out about one file.
struct Checked {
  std::string file;
  std::int64_t num_blocks = 0;
  std::int64_t replicas = 0;
  std::string ranks;                     // what each holds, where there are several
  std::optional<std::int64_t> requests;  // where it is known before the run
  std::optional<std::size_t> variants;   // of a comparison
  std::size_t seeds = 0;
  std::vector<Problem> problems;
};

Checked check(const std::string& file, const ScenarioOverrides& overrides) {
  Checked result;
  result.file = file;
  try {
    if (is_comparison(file)) {
      const ComparisonPlan plan = plan_comparison({file}, {overrides.set, {}, "", "", ""});
      result.variants = plan.variants.size();
      result.seeds = plan.seeds.size();
      return result;
    }
    const Scenario scenario = load_scenario(file, overrides);
    result.num_blocks = scenario.num_blocks().value;
    result.replicas = scenario.spec().replicas;
    result.ranks = rank_share_text(scenario);
    result.requests = assemble(scenario).source->total();
  } catch (const ConfigError& error) {
    result.problems = error.problems();
  }
  return result;
}

// Nothing of a bad file: its problems are messages.
std::string text_of(const Checked& file) {
  if (!file.problems.empty()) return "";
  if (file.variants)
    return fmt::format("{}: ok, {} variants, {} seeds\n", file.file, *file.variants, file.seeds);
  return fmt::format("{}: ok, {} KV blocks on each of {} replicas{}\n", file.file,
                     format_grouped(file.num_blocks), file.replicas,
                     file.requests ? fmt::format(", {} requests", format_grouped(*file.requests)) : "") +
         file.ranks;
}

Json json_of(const Checked& file) {
  const bool ok = file.problems.empty();
  const bool runs = ok && !file.variants;
  Json out = {{"file", file.file}, {"ok", ok}};
  out["num_blocks"] = runs ? Json(file.num_blocks) : Json(nullptr);
  out["replicas"] = runs ? Json(file.replicas) : Json(nullptr);
  out["requests"] = ok && file.requests ? Json(*file.requests) : Json(nullptr);
  if (file.variants) {
    out["variants"] = *file.variants;
    out["seeds"] = file.seeds;
  }
  out["problems"] = Json::array();
  for (const Problem& problem : file.problems) {
    out["problems"].push_back({{"code", problem.code},
                               {"file", problem.place.file},
                               {"line", problem.place.line},
                               {"column", problem.place.column},
                               {"path", problem.path},
                               {"message", problem.message},
                               {"remedy", problem.remedy}});
  }
  return out;
}

class Validate final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.words("FILE", files_,
                    "Scenario or comparison files, - for standard input, or names of shipped ones.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value before the check.");
    arguments.flag("--json", json_, kJsonHelp);
  }

  // Goes on after a bad file, so that one call finds everything.
  ExitCode run(Terminal& terminal) override {
    std::vector<Problem> problems;
    Json list = Json::array();
    for (const std::string& name : files_) {
      const Checked file = check(name, overrides_);
      if (json_) {
        list.push_back(json_of(file));
      } else {
        terminal.out(text_of(file));
      }
      problems.insert(problems.end(), file.problems.begin(), file.problems.end());
    }
    if (json_) terminal.out(list.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
    terminal.flush();
    if (!problems.empty()) throw ConfigError(std::move(problems));
    return ExitCode::kOk;
  }

 private:
  std::vector<std::string> files_;
  ScenarioOverrides overrides_;
  bool json_ = false;
};

const Registered<Verb, Validate> kValidate{"validate", "Checks scenario files without running them."};

}  // namespace
}  // namespace servetwin
