// compare: variants of a scenario, or finished runs, on the same requests: which is better, and how sure is
// it.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <thread>
#include <vector>

#include "cli/stop_signal.h"
#include "cli/verb.h"
#include "engine/base/unit_text.h"
#include "scenarios/compared_folders.h"
#include "scenarios/comparison_output.h"
#include "scenarios/comparison_report.h"

namespace servetwin {
namespace {

bool names_folder(const std::string& word) {
  std::error_code failed;
  return std::filesystem::is_directory(word, failed);
}

class Compare final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.words(
        "WHAT", words_,
        "A comparison file; or scenarios, by file or shipped name; or folders of finished runs. The "
        "first is the baseline.");
    arguments.repeated("--vary", "KEY=VALUE,VALUE", overrides_.vary,
                       "Compares values of one key, such as engine.max_num_seqs=64,128.");
    arguments.repeated("--set", "KEY=VALUE", overrides_.set, "Sets one value of all that is compared.");
    arguments.option("--baseline", "NAME", overrides_.baseline, "The variant that others are compared with.");
    arguments.option("--judge", "MEASURE,MEASURE", overrides_.judge,
                     "What findings are made of; the first ranks.");
    arguments.option("--seeds", "N", overrides_.seeds, "How many seeds, or a list of them; by default 10.");
    arguments.option("--threads", "N", threads_, "Runs simulated at once; by default one a core.");
    arguments.option("--out", "DIR", out_, "Also writes comparison.json and comparison.csv there.");
    arguments.flag("--force", force_, "Replaces an earlier comparison in that folder.");
    arguments.flag("--json", json_, kJsonHelp);
    arguments.flag("--csv", csv_, "Prints comparison.csv on standard output instead of sentence and table.");
    arguments.option(
        "--fail-on", "regression", fail_on_,
        "Exit code 1 when a variant is shown to be worse than the baseline in a judged measure.");
  }

  ExitCode run(Terminal& terminal) override {
    if (!fail_on_.empty() && fail_on_ != "regression") {
      throw UsageError("servetwin compare: --fail-on takes regression, not " + fail_on_);
    }
    if (!out_.empty()) check_comparison_folder(out_, force_);
    const ComparisonOutcome outcome = compare(terminal);
    terminal.progress("");
    std::vector<std::string> files;
    if (!out_.empty()) files = write_comparison(out_, outcome);
    if (json_) {
      terminal.out(comparison_json(outcome));
    } else if (csv_) {
      terminal.out(comparison_csv(outcome));
    } else {
      terminal.out(terminal.bold(verdict_sentence(outcome)) + "\n\n" + comparison_table(outcome));
      for (const std::string& file : files) terminal.out("file: " + file + '\n');
    }
    return verdict(outcome, terminal);
  }

 private:
  ComparisonOutcome compare(Terminal& terminal) {
    const auto folders = std::count_if(words_.begin(), words_.end(), names_folder);
    if (folders > 0) return compare_finished(static_cast<std::size_t>(folders));
    const ComparisonPlan plan = plan_comparison(words_, overrides_);
    for (const std::string& note : plan.notes) terminal.err("note: " + note + '\n');
    require_seeds(plan.seeds.size(), fewest_seeds(plan.options.confidence, plan.claims()));
    ComparisonRunOptions options;
    options.threads = threads();
    catch_stop_signals();
    options.stop = stop_requested();
    if (terminal.shows_progress()) {
      options.progress = [&terminal](int done, int all) {
        terminal.progress(fmt::format("comparing: {} of {} runs", done, all));
      };
    }
    return run_comparison(plan, options);
  }

  ComparisonOutcome compare_finished(std::size_t folders) const {
    if (folders != words_.size() || folders < 2 || !overrides_.vary.empty() || !overrides_.set.empty() ||
        !overrides_.seeds.empty() || !threads_.empty()) {
      throw UsageError(
          "servetwin compare: finished runs are compared as they are: name two or more folders, without "
          "scenarios, --set, --vary, --seeds and --threads");
    }
    require_seeds(1, fewest_seeds(JudgeOptions{}.confidence));
    return compare_folders(words_, overrides_);
  }

  // Whoever asks for an exit code shall not get "no regression" because nothing could be shown.
  void require_seeds(std::size_t seeds, int fewest) const {
    if (fail_on_.empty() || seeds >= static_cast<std::size_t>(fewest)) return;
    throw UsageError(fmt::format("servetwin compare: --fail-on regression needs {} seeds, there {} {}",
                                 fewest, seeds == 1 ? "is" : "are", seeds));
  }

  int threads() const {
    if (threads_.empty()) return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const auto number = parse_integer(threads_);
    if (!number || *number.value < 1 || *number.value > 1024) {
      throw UsageError("servetwin compare: --threads takes a number from 1 to 1024, not " + threads_);
    }
    return static_cast<int>(*number.value);
  }

  ExitCode verdict(const ComparisonOutcome& outcome, Terminal& terminal) const {
    if (!outcome.complete) {
      terminal.err("interrupted: what was compared until then, marked incomplete\n");
      return static_cast<ExitCode>(128 + stop_signal());
    }
    if (fail_on_.empty()) return ExitCode::kOk;
    const std::vector<std::string> reasons = reasons_to_fail(outcome);
    for (const std::string& reason : reasons) terminal.err("verdict: " + reason + '\n');
    return reasons.empty() ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

  std::vector<std::string> words_;
  ComparisonOverrides overrides_;
  std::string threads_;
  std::string out_;
  std::string fail_on_;
  bool force_ = false;
  bool json_ = false;
  bool csv_ = false;
};

const Registered<Verb, Compare> kCompare{
    "compare", "Compares variants on the same requests: which is better, by how much, for whom, and why."};

}  // namespace
}  // namespace servetwin
