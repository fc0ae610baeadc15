// diff: where two runs first decide differently.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/journal/first_difference.h"

namespace servetwin {
namespace {

using Json = nlohmann::ordered_json;

// One side: a journal is replayed, a run without one is simulated again.
struct Side {
  explicit Side(const std::string& path) {
    std::error_code failed;
    const bool is_folder = std::filesystem::is_directory(path, failed);
    if (is_folder && !has_run_file(path, "journal.jsonl.zst")) {
      scenario.emplace(scenario_of_run(path));
      rerun = simulate_again(*scenario, false, {&log});
    } else {
      reader.emplace(journal_of(path));
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
    arguments.flag("--json", json_, kJsonHelp);
  }

  ExitCode run(Terminal& terminal) override {
    Side a(a_);
    Side b(b_);
    const DecisionComparison comparison = first_difference(*a.decisions, *b.decisions);
    terminal.out(json_ ? json(comparison) : to_text(comparison, a_, b_));
    terminal.flush();
    std::vector<Problem> cut;
    for (const Side* side : {&a, &b}) {
      if (const auto problem = side->rerun->cut()) {
        cut.push_back(*problem);
      } else if (const std::string trouble = side->rerun->trouble(); !trouble.empty()) {
        terminal.err("note: " + trouble + '\n');
      }
    }
    if (!cut.empty()) throw ConfigError(std::move(cut));
    return comparison.first ? ExitCode::kVerdictFailed : ExitCode::kOk;
  }

 private:
  static Json record(const std::optional<DecisionRecord>& one) {
    if (!one) return nullptr;
    return {{"time_s", to_seconds(one->time)}, {"decisions", one->text}};
  }

  std::string json(const DecisionComparison& comparison) const {
    Json out = {{"a", a_}, {"b", b_}, {"equal", !comparison.first}};
    out["steps"] = comparison.steps;
    out["equal_steps"] = comparison.equal_steps;
    out["first_difference"] = nullptr;
    if (comparison.first) {
      const DecisionRecord& any = comparison.first->a ? *comparison.first->a : *comparison.first->b;
      const bool is_cluster = any.replica == kNoReplica;
      out["first_difference"] = {{"replica", is_cluster ? Json(nullptr) : Json(raw(any.replica))},
                                 {is_cluster ? "decision" : "step", raw(any.step)},
                                 {"a", record(comparison.first->a)},
                                 {"b", record(comparison.first->b)}};
    }
    return out.dump(2) + '\n';
  }

  std::string a_;
  std::string b_;
  bool json_ = false;
};

const Registered<Verb, Diff> kDiff{"diff", "Names the first step that two runs decide differently."};

}  // namespace
}  // namespace servetwin
