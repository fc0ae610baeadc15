// validate: checks scenarios as a whole, the files they name included, without running them.
#include <fmt/format.h>
#include <vector>

#include "cli/verb.h"
#include "engine/base/text.h"
#include "scenarios/assemble.h"

namespace servetwin {
namespace {

class Validate final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.words("FILE", files_, "Scenario files, - for standard input, or shipped scenarios' names.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value before the check.");
  }

  // Goes on after a bad file, so that one call finds everything.
  ExitCode run(Terminal& terminal) override {
    std::vector<Problem> problems;
    for (const std::string& file : files_) {
      try {
        const Scenario scenario = load_scenario(file, overrides_);
        const RunParts parts = assemble(scenario);
        terminal.out(fmt::format("{}: ok, {} KV blocks on each of {} replicas{}\n", file,
                                 format_grouped(scenario.num_blocks().value), scenario.spec().replicas,
                                 requests_text(parts)));
      } catch (const ConfigError& error) {
        problems.insert(problems.end(), error.problems().begin(), error.problems().end());
      }
    }
    if (!problems.empty()) throw ConfigError(std::move(problems));
    return ExitCode::kOk;
  }

 private:
  static std::string requests_text(const RunParts& parts) {
    const std::optional<std::int64_t> total = parts.source->total();
    return total ? fmt::format(", {} requests", format_grouped(*total)) : "";
  }

  std::vector<std::string> files_;
  ScenarioOverrides overrides_;
};

const Registered<Verb, Validate> kValidate{"validate", "Checks scenario files without running them."};

}  // namespace
}  // namespace servetwin
