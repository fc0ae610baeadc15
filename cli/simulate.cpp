// simulate: runs a scenario, writes its files, and answers in a sentence and a table.
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "cli/gap_collector.h"
#include "cli/stop_signal.h"
#include "cli/verb.h"
#include "engine/base/text.h"
#include "engine/metrics/row_files.h"
#include "engine/metrics/summary.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

std::string progress_line(const RunProgress& progress) {
  std::string text = fmt::format("simulating: {:.1f} s, {} requests ended", to_seconds(progress.now),
                                 format_grouped(progress.ended));
  if (progress.expected) text += " of " + format_grouped(*progress.expected);
  return text;
}

std::string stalled_text(const std::vector<StalledRequest>& stalled) {
  std::string text;
  for (const StalledRequest& one : stalled) {
    text += fmt::format("request {} {}: {}; {} blocks more, {} free, {} held\n", raw(one.request),
                        one.running ? "runs" : "waits", one.why, one.needs.value, one.free.value,
                        one.holds.value);
  }
  return text;
}

class Simulate final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("SCENARIO", scenario_,
                   "A scenario file, - for standard input, or a shipped scenario's name.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set,
                       "Sets one value, such as engine.max_num_seqs=64.");
    arguments.option("--workload", "trace:FILE", workload_,
                     "Replays a trace instead of the scenario's workload.");
    arguments.option("--out", "DIR", options_.out, "Folder for the run's files; by default runs/NAME.");
    arguments.flag("--force", options_.force, "Replaces the files of an earlier run in that folder.");
    arguments.flag("--journal", options_.journal,
                   "Also writes journal.jsonl.zst: every event, for replay and diff.");
    arguments.flag("--itls", itls_, "Also writes itls.jsonl: the gaps between tokens of each request.");
    arguments.flag("--steps", options_.steps, "Also writes steps.csv: a line for each step.");
    arguments.flag("--json", json_, "Prints summary.json on standard output instead of sentence and table.");
    arguments.option("--fail-on", "slo", fail_on_,
                     "Exit code 1 when a request of a class with an SLO missed it.");
    arguments.flag("--plain-loop", options_.plain_loop,
                   "Simulates every step by itself, without the decode shortcut.");
  }

  ExitCode run(Terminal& terminal) override {
    if (!fail_on_.empty() && fail_on_ != "slo") {
      throw UsageError("servetwin simulate: --fail-on takes slo, not " + fail_on_);
    }
    if (!workload_.empty()) overrides_.workload = workload_;
    const Scenario scenario = load_scenario(scenario_, overrides_);
    if (options_.out.empty()) options_.out = "runs/" + scenario.document.metadata.name;
    GapCollector gaps;
    if (itls_) {
      options_.plain_loop = true;
      options_.observers.push_back(&gaps);
    }
    if (terminal.shows_progress()) {
      options_.progress = [&terminal](const RunProgress& progress) {
        terminal.progress(progress_line(progress));
      };
    }
    catch_stop_signals();
    options_.stop = stop_requested();
    RunResult result = run_scenario(scenario, options_);
    if (itls_) {
      result.files.push_back((std::filesystem::path(options_.out) / "itls.jsonl").string());
      write_gap_lists(result.files.back(), gaps.gaps());
    }
    terminal.progress("");
    print(result, terminal);
    return verdict(result, terminal);
  }

 private:
  void print(const RunResult& result, Terminal& terminal) const {
    if (json_) {
      terminal.out(summary_json(result.report, result.provenance));
      return;
    }
    terminal.out(terminal.bold(answer_sentence(result.report, result.deployment)) + "\n\n");
    terminal.out(answer_table(result.report) + '\n');
    terminal.out(stalled_text(result.stalled));
    terminal.out("files:\n");
    for (const std::string& file : result.files) terminal.out("  " + file + '\n');
    terminal.out("next: servetwin explain " + options_.out + " step 1\n");
  }

  ExitCode verdict(const RunResult& result, Terminal& terminal) const {
    if (result.state == RunState::kInterrupted) {
      terminal.err("interrupted: the files hold what was simulated until then, marked incomplete\n");
      return static_cast<ExitCode>(128 + stop_signal());
    }
    if (result.state == RunState::kStalled) {
      terminal.err("verdict: stalled\n");
      return ExitCode::kVerdictFailed;
    }
    if (fail_on_.empty()) return ExitCode::kOk;
    ExitCode code = ExitCode::kOk;
    for (const ClassReport& one : result.report.classes) {
      if (one.good == one.judged) continue;
      code = ExitCode::kVerdictFailed;
      terminal.err(fmt::format("verdict: class {}: {} of {} requests did not meet {}{}\n", one.name,
                               format_grouped(one.judged - one.good), format_grouped(one.judged),
                               slo_text(one.slo), misses_text(one)));
    }
    return code;
  }

  std::string scenario_;
  std::string workload_;
  std::string fail_on_;
  ScenarioOverrides overrides_;
  RunOptions options_;
  bool itls_ = false;
  bool json_ = false;
};

const Registered<Verb, Simulate> kSimulate{"simulate",
                                           "Runs a scenario and answers in a sentence and a table."};

}  // namespace
}  // namespace servetwin
