// The name says which it is: a folder, a file that ends in .zst, or anything else.
#include "cli/shown_run.h"

#include <filesystem>
#include <utility>

#include "cli/arguments.h"

namespace servetwin {

std::unique_ptr<Rerun> ShownRun::make(std::vector<Observer*> observers) const {
  if (!folder.empty()) return run_again(folder, scenario, std::move(observers));
  if (!journal.empty()) return replay_plainly(journal, std::move(observers));
  return simulate_again(scenario, true, std::move(observers));
}

ShownRun open_run(const std::string& name, const ScenarioOverrides& overrides) {
  std::error_code failed;
  const bool is_folder = std::filesystem::is_directory(name, failed);
  const bool is_journal = !is_folder && name.size() > 4 && name.substr(name.size() - 4) == ".zst";
  if ((is_folder || is_journal) && !overrides.set.empty())
    throw UsageError("servetwin step: --set changes a scenario, and " + name + " is a run");
  if (is_folder) return {scenario_of_run(name), name, ""};
  if (!is_journal) return {load_scenario(name, overrides), "", ""};
  const std::string journal = journal_of(name);
  const JournalReader reader(journal);
  return {parse_scenario(reader.header().scenario, reader.name()), "", journal};
}

}  // namespace servetwin
