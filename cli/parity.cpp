// parity: simulates a recorded run with its own arrivals and durations and compares every decision.
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/base/text.h"
#include "engine/journal/first_difference.h"
#include "scenarios/recorded_simulation.h"

namespace servetwin {
namespace {

// Those that stopped by themselves.
class StopCollector final : public Observer {
 public:
  void on_end(const RequestRecord& record) override {
    if (record.end_state == EndState::kStop) stops.push_back(record);
  }

  std::vector<RequestRecord> stops;
};

// Without what a replica decided after its last step: a run that was stopped has no step to put it in, and
// its simulation goes on and has one.
class WholeSteps final : public DecisionSource {
 public:
  explicit WholeSteps(DecisionSource& all) : all_(all) {}
  bool next(DecisionRecord& out) override {
    while (all_.next(out)) {
      if (out.text.rfind(kNoStep, 0) != 0) return true;
    }
    return false;
  }

 private:
  DecisionSource& all_;
};

class Parity final : public Verb {
 public:
  using Verb::Verb;

  void declare(Arguments& arguments) override {
    arguments.word("RUN", path_, "A run's folder with its journal, or a journal.");
  }

  ExitCode run(Terminal& terminal) override {
    const std::string journal = journal_of(path_);
    StopCollector ends;
    bool stopped = false;
    {
      JournalReader reader(journal);
      const std::unique_ptr<Rerun> first = replay_journal(reader, {&ends});
      serve(first->cluster(), first->backend());
      stopped = reader.footer() && !reader.footer()->complete;
    }
    const RecordedRun recorded = read_recorded_run(journal, ends.stops);
    DecisionLog log;
    JournalReader reader(journal);
    const std::unique_ptr<Rerun> replay = replay_journal(reader, {&log});
    RunDecisions replayed(replay->cluster(), replay->backend(), log);
    RecordedSimulation simulation(replay->scenario(), recorded);
    WholeSteps whole_steps(replayed);
    DecisionSource& told = stopped ? static_cast<DecisionSource&>(whole_steps) : replayed;
    const DecisionComparison comparison = first_difference(told, simulation.decisions());
    if (const auto cut = replay->cut()) throw ConfigError(*cut);
    if (stopped && (!comparison.first || !comparison.first->a)) {
      terminal.out("The run was stopped: all steps until then are equal.\n");
      return ExitCode::kOk;
    }
    terminal.out(to_text(comparison, path_, "its simulation"));
    const RunDigests a = replay->digests();
    const RunDigests b{simulation.cluster().decisions_digest(), simulation.cluster().timeline_digest()};
    terminal.out(row("decisions", a.decisions, b.decisions) + row("timeline", a.timeline, b.timeline));
    return a == b ? ExitCode::kOk : ExitCode::kVerdictFailed;
  }

 private:
  static std::string row(const char* name, std::uint64_t recorded, std::uint64_t simulated) {
    return fmt::format("  {:<10} recorded {}  simulated {}  {}\n", name, to_hex(recorded), to_hex(simulated),
                       recorded == simulated ? "equal" : "different");
  }

  std::string path_;
};

const Registered<Verb, Parity> kParity{
    "parity", "Simulates a recorded run with its own arrivals and durations; compares every decision."};

}  // namespace
}  // namespace servetwin
