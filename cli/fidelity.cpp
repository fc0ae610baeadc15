// fidelity: runs a scenario live, simulates it with a profile, and prints how far apart the two are.
#include <filesystem>
#include <fmt/format.h>

#include "cli/calibration.h"
#include "cli/fidelity_plan.h"
#include "cli/fidelity_report.h"
#include "cli/numbers.h"
#include "cli/stop_signal.h"
#include "cli/thread_places.h"
#include "cli/verb.h"
#include "engine/metrics/output_file.h"
#include "scenarios/run_folder.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

class Fidelity final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("SCENARIO", scenario_,
                   "A scenario file, - for standard input, or a shipped scenario's name.");
    arguments.option("--profile", "FILE", profile_, "The profile that `servetwin calibrate` wrote.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value, as for simulate.");
    arguments.option("--repeats", "N", repeats_, "Live runs of each load; by default 3.");
    arguments.flag("--full", full_, "Also 0.3 to 1.1 of capacity, and other lengths.");
    arguments.option("--out", "DIR", out_, "Folder of the live runs; by default runs/NAME-fidelity.");
    arguments.flag("--force", force_, "Replaces the files of an earlier check in that folder.");
    places_.declare(arguments);
    arguments.flag("--json", json_, kJsonHelp);
    arguments.option(
        "--fail-on", "error", fail_on_,
        "Exit code 1 when a judged figure is off, or a live run's decisions cannot be made again.");
  }

  ExitCode run(Terminal& terminal) override {
    if (!fail_on_.empty() && fail_on_ != "error") {
      throw UsageError("servetwin fidelity: --fail-on takes error, not " + fail_on_);
    }
    if (profile_.empty()) throw UsageError("servetwin fidelity: needs --profile FILE");
    FidelityOptions options;
    options.repeats = static_cast<int>(whole_option("fidelity", "--repeats", repeats_, {1, 100}));
    const StepProfile profile = profile_from(load_yaml_file(profile_));
    options.threads = profile.measured.threads;
    const std::vector<PlannedCase> plan =
        plan_fidelity(scenario_, overrides_, profile_, options.threads, full_);
    const Scenario& scenario = plan.front().scenario;
    places_.take("fidelity", static_cast<std::size_t>(options.threads * scenario.spec().replicas));
    options.cpus = places_.compute();
    terminal.err(places_.text());
    warn(profile, scenario, terminal);
    const std::string out = out_.empty() ? "runs/" + scenario.document.metadata.name + "-fidelity" : out_;
    check_folder(out);
    catch_stop_signals();
    options.stop = stop_requested();
    std::vector<FidelityCase> cases;
    for (const PlannedCase& one : plan) {
      terminal.progress(fmt::format("{} of {}: {}", cases.size() + 1, plan.size(), one.name));
      options.folder = (std::filesystem::path(out) / one.folder).string();
      cases.push_back(run_case(one.name, one.scenario, one.kind, one.load, options));
      terminal.progress("");
      if (*stop_requested()) return static_cast<ExitCode>(128 + stop_signal());
      if (!json_) terminal.out(fidelity_table(cases.back()) + '\n');
    }
    write_file((std::filesystem::path(out) / kFile).string(), fidelity_json(cases, profile_));
    terminal.out(json_ ? fidelity_json(cases, profile_) : fidelity_sentence(cases) + '\n');
    return !fail_on_.empty() && is_off(cases) ? ExitCode::kVerdictFailed : ExitCode::kOk;
  }

 private:
  static constexpr const char* kFile = "fidelity.json";

  void check_folder(const std::string& out) const {
    if (force_ || !std::filesystem::exists(std::filesystem::path(out) / kFile)) return;
    throw ConfigError(Problem{"CFG301",
                              {out, 0, 0},
                              "",
                              "holds the files of another check",
                              "give another --out, or --force to replace them"});
  }

  static void warn(const StepProfile& profile, const Scenario& scenario, Terminal& terminal) {
    const std::string other =
        subject_differences(profile.measured, subject_here(scenario, profile.measured.threads));
    if (!other.empty()) terminal.err("note: the profile is of something else: " + other + '\n');
  }

  std::string scenario_;
  std::string profile_;
  ScenarioOverrides overrides_;
  std::string repeats_ = "3";
  std::string out_;
  std::string fail_on_;
  ThreadPlaces places_;
  bool full_ = false;
  bool force_ = false;
  bool json_ = false;
};

const Registered<Verb, Fidelity> kFidelity{"fidelity",
                                           "Simulates with a profile, runs live, and prints the error."};

}  // namespace
}  // namespace servetwin
