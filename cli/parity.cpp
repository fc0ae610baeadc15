// parity: simulates a recorded run with its own arrivals and durations and compares every decision.
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "cli/rerun.h"
#include "cli/verb.h"
#include "engine/base/text.h"
#include "engine/journal/first_difference.h"
#include "scenarios/assemble.h"
#include "sim/backend/recorded_run.h"

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

// The recorded world, and the decisions made anew.
class RecordedSimulation {
 public:
  RecordedSimulation(const Scenario& scenario, const RecordedRun& run)
      : parts_(assemble(scenario)), source_(run) {
    for (EngineConfig& config : parts_.cluster.replicas) config.plain_loop = true;
    parts_.sim.shortcut = false;
    parts_.sim.replayed = &run.durations;
    cluster_ = std::make_unique<Cluster>(parts_.cluster, parts_.make_rules, std::move(parts_.router),
                                         std::vector<Observer*>{&log_});
    backend_ = std::make_unique<SimBackend>(source_, std::vector<const CostModel*>{parts_.cost.get()}, parts_.sim);
    backend_->attach(*cluster_);
    decisions_ = std::make_unique<RunDecisions>(*cluster_, *backend_, log_);
  }

  DecisionSource& decisions() { return *decisions_; }
  RunDigests digests() const { return {cluster_->decisions_digest(), cluster_->timeline_digest()}; }

 private:
  RunParts parts_;
  RecordedSource source_;
  DecisionLog log_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SimBackend> backend_;
  std::unique_ptr<RunDecisions> decisions_;
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
    {
      JournalReader reader(journal);
      const std::unique_ptr<Rerun> first = replay_journal(reader, {&ends});
      serve(first->cluster(), first->backend());
    }
    const RecordedRun recorded = read_recorded_run(journal, ends.stops);
    DecisionLog log;
    JournalReader reader(journal);
    const std::unique_ptr<Rerun> replay = replay_journal(reader, {&log});
    RunDecisions replayed(replay->cluster(), replay->backend(), log);
    RecordedSimulation simulation(replay->scenario(), recorded);
    const DecisionComparison comparison = first_difference(replayed, simulation.decisions());
    if (const auto cut = replay->cut()) throw ConfigError(*cut);
    terminal.out(to_text(comparison, path_, "its simulation"));
    const RunDigests a = replay->digests();
    const RunDigests b = simulation.digests();
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
