// A run made again: from its journal, whose events are replayed, or from its resolved scenario, simulated
// anew.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/journal/journal_reader.h"
#include "engine/serving/cluster.h"
#include "scenarios/scenario.h"

namespace servetwin {

struct RunDigests {
  std::uint64_t decisions = 0;
  std::uint64_t timeline = 0;

  friend bool operator==(const RunDigests&, const RunDigests&) = default;
};

class Rerun {
 public:
  virtual ~Rerun() = default;
  virtual const Scenario& scenario() const = 0;
  virtual Cluster& cluster() = 0;
  virtual Backend& backend() = 0;
  // What kept it from being the whole run again, in a sentence; empty when nothing did. Final after the end.
  virtual std::string trouble() const = 0;
  // Where a replay does otherwise than its journal says; the first such place ends it.
  virtual std::optional<std::string> difference() const { return std::nullopt; }
  // The end of a journal that is cut off, which what was replayed cannot be the whole of.
  virtual std::optional<Problem> cut() const { return std::nullopt; }

  RunDigests digests() { return {cluster().decisions_digest(), cluster().timeline_digest()}; }
};

// A file of a run's folder.
std::string run_file(const std::string& folder, const std::string& name);
// Whether it is there.
bool has_run_file(const std::string& folder, const std::string& name);

// The journal that a run's folder has, or that `path` is. Throws ConfigError when there is none.
std::string journal_of(const std::string& path);
// Throws ConfigError for what is no journal.
std::unique_ptr<Rerun> replay_journal(JournalReader& reader, std::vector<Observer*> observers);
// `plain`: every step by itself, each with all its rows.
std::unique_ptr<Rerun> simulate_again(const Scenario& scenario, bool plain, std::vector<Observer*> observers);

// The run of a folder again, each step by itself with all its rows: a live or served one as its journal says,
// others simulated. The scenario must outlive it.
std::unique_ptr<Rerun> run_again(const std::string& folder,
                                 const Scenario& scenario,
                                 std::vector<Observer*> observers);

// A journal again, each step by itself with all its rows.
std::unique_ptr<Rerun> replay_plainly(const std::string& journal, std::vector<Observer*> observers);

// The resolved scenario of a run's folder. Throws ConfigError when it is none.
Scenario scenario_of_run(const std::string& folder);

// What summary.json says of the run.
struct RunSummary {
  RunDigests digests;
  bool complete = false;
  bool needs_journal = false;  // a live one or one with clients: the rest does not say what happened to it
};
RunSummary summary_of_run(const std::string& folder);

}  // namespace servetwin
