// diff: where two runs first decide differently.
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/journal/first_difference.h"

namespace servetwin {
namespace {

// One side: a journal is replayed, a run without one is simulated again.
struct Side {
  explicit Side(const std::string& path) {
    std::error_code failed;
    const bool is_folder = std::filesystem::is_directory(path, failed);
    if (is_folder && !has_run_file(path, "journal.jsonl.zst")) {
      scenario.emplace(scenario_of_run(path));
      rerun = simulate_again(*scenario, false, {&log});
    } else {
      reader.emplace(is_folder ? run_file(path, "journal.jsonl.zst") : path);
      rerun = replay_journal(*reader, {&log});
    }
    decisions.emplace(rerun->cluster(), rerun->backend(), log);
  }

  DecisionLog log;
  std::optional<Scenario> scenario;
  std::optional<JournalReader> reader;
  std::unique_ptr<Rerun> rerun;
  std::optional<RunDecisions> decisions;
};

class Diff final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("A", a_, "A run's folder, or a journal.");
    arguments.word("B", b_, "The same, to compare with.");
  }

  ExitCode run(Terminal& terminal) override {
    Side a(a_);
    Side b(b_);
    const DecisionComparison comparison = first_difference(*a.decisions, *b.decisions);
    terminal.out(to_text(comparison, a_, b_));
    for (const Side* side : {&a, &b}) {
      const std::string trouble = side->rerun->trouble();
      if (!trouble.empty()) terminal.err("note: " + trouble + '\n');
    }
    return comparison.first ? ExitCode::kVerdictFailed : ExitCode::kOk;
  }

 private:
  std::string a_;
  std::string b_;
};

const Registered<Verb, Diff> kDiff{"diff", "Names the first step that two runs decide differently."};

}  // namespace
}  // namespace servetwin
