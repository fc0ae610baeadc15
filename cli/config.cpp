// config: a scenario with every value resolved, and the JSON Schema of scenario files.
#include <fmt/format.h>
#include <vector>

#include "cli/verb.h"
#include "scenarios/config_tree.h"
#include "scenarios/json_schema.h"
#include "scenarios/rank_share.h"
#include "scenarios/scenario.h"

namespace servetwin {
namespace {

class Config final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.words(
        "WHAT", words_,
        "show SCENARIO: its values. schema: the JSON Schema of scenario files; schema comparison: of "
        "comparisons.");
    arguments.flag("--resolved", resolved_, "With show: one line a value, with where it comes from.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "With show: sets one value.");
  }

  ExitCode run(Terminal& terminal) override {
    if (words_.size() == 1 && words_[0] == "schema") {
      terminal.out(json_schema());
      return ExitCode::kOk;
    }
    if (words_ == std::vector<std::string>{"schema", "comparison"}) {
      terminal.out(comparison_schema());
      return ExitCode::kOk;
    }
    if (words_.size() != 2 || words_[0] != "show") {
      throw UsageError(
          "servetwin config: write `config show --resolved SCENARIO`, `config schema` or `config schema "
          "comparison`");
    }
    const Scenario scenario = load_scenario(words_[1], overrides_);
    terminal.out(resolved_ ? values_text(scenario) : write_scenario(scenario));
    return ExitCode::kOk;
  }

 private:
  static std::string values_text(const Scenario& scenario) {
    std::string text;
    for (const ResolvedValue& value : resolved_values(scenario.resolved)) {
      text += fmt::format("{:<44} {:<32} {}\n", value.path, value.value, value.origin);
    }
    if (scenario.memory) text += to_text(*scenario.memory) + '\n';
    return text + rank_share_text(scenario);
  }

  std::vector<std::string> words_;
  ScenarioOverrides overrides_;
  bool resolved_ = false;
};

const Registered<Verb, Config> kConfig{"config", "Shows a scenario's resolved values and their origins."};

}  // namespace
}  // namespace servetwin
