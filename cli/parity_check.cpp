// The journal is read three times: for its ends, its durations and its decisions.
#include "cli/parity_check.h"

#include <memory>
#include <vector>

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

}  // namespace

ParityResult check_parity(const std::string& journal) {
  ParityResult result;
  StopCollector ends;
  {
    JournalReader reader(journal);
    const std::unique_ptr<Rerun> first = replay_journal(reader, {&ends});
    serve(first->cluster(), first->backend());
    result.stopped = reader.footer() && !reader.footer()->complete;
  }
  const RecordedRun recorded = read_recorded_run(journal, ends.stops);
  DecisionLog log;
  JournalReader reader(journal);
  const std::unique_ptr<Rerun> replay = replay_journal(reader, {&log});
  RunDecisions replayed(replay->cluster(), replay->backend(), log);
  RecordedSimulation simulation(replay->scenario(), recorded);
  WholeSteps whole_steps(replayed);
  DecisionSource& told = result.stopped ? static_cast<DecisionSource&>(whole_steps) : replayed;
  result.comparison = first_difference(told, simulation.decisions());
  if (const auto cut = replay->cut()) throw ConfigError(*cut);
  result.recorded = replay->digests();
  result.simulated = {simulation.cluster().decisions_digest(), simulation.cluster().timeline_digest()};
  return result;
}

DecisionComparison compare_with_prediction(const std::string& journal) {
  DecisionLog log;
  JournalReader reader(journal);
  const std::unique_ptr<Rerun> replay = replay_journal(reader, {&log});
  RunDecisions recorded(replay->cluster(), replay->backend(), log);
  DecisionLog simulated_log;
  const std::unique_ptr<Rerun> simulation = simulate_again(replay->scenario(), true, {&simulated_log});
  RunDecisions simulated(simulation->cluster(), simulation->backend(), simulated_log);
  return first_difference(recorded, simulated);
}

}  // namespace servetwin
