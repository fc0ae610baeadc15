// The writers of a run and a recorder of their own, so that the report ends where the session did.
#include "cli/served_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/metrics/output_file.h"
#include "engine/metrics/row_files.h"
#include "engine/metrics/summary.h"
#include "engine/metrics/timeline.h"
#include "scenarios/run_facts.h"
#include "scenarios/run_folder.h"

namespace servetwin {
namespace {

const std::vector<std::string> kClientClass = {"default"};

RecorderOptions session_recorder(const Scenario& scenario) {
  RecorderOptions options;
  options.num_replicas = static_cast<std::size_t>(scenario.spec().replicas);
  options.output_delay = scenario.spec().front_end.per_output;
  return options;
}

TimelineWriter::Options session_timeline(const Scenario& scenario) {
  TimelineWriter::Options options;
  options.num_replicas = static_cast<std::size_t>(scenario.spec().replicas);
  return options;
}

}  // namespace

struct ServedFiles::Session {
  struct LastTime final : Observer {
    void on_event(const StampedEvent& event) override { time = std::max(time, event.time); }

    Time time = kTimeZero;
  };

  Session(const std::string& folder, const Scenario& of, DurationOrigin from)
      : path(folder),
        scenario(of),
        origin(std::move(from)),
        recorder(session_recorder(of)),
        requests(file("requests.csv"), kClientClass, of.spec().front_end.per_output),
        steps(file("steps.csv"), static_cast<std::size_t>(of.spec().replicas)),
        timeline(file("timeline.json"), session_timeline(of)),
        journal(file(kBegunJournal), journal_header(of, origin.profile_hash)) {}
  // A journal that was begun and not ended is no use without its session.
  ~Session() {
    std::error_code failed;
    std::filesystem::remove(path / kBegunJournal, failed);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::string file(const char* name) const { return (path / name).string(); }
  std::vector<Observer*> observers() { return {&last, &recorder, &requests, &steps, &timeline, &journal}; }

  void close_journal(const Cluster& cluster) {
    JournalFooter footer;
    footer.complete = cluster.unfinished() == 0;
    footer.decisions = cluster.decisions_digest();
    footer.timeline = cluster.timeline_digest();
    journal.close(footer);
    std::filesystem::rename(path / kBegunJournal, path / kJournal);
  }

  std::string summary(const Cluster& cluster) {
    recorder.finish(last.time, cluster.unfinished() == 0 ? RunState::kComplete : RunState::kInterrupted);
    Provenance from = run_provenance(scenario, cluster);
    from.workload = "clients";
    from.cost_model = origin.cost_model;
    from.profile_hash = origin.profile_hash;
    from.evidence = {{origin.evidence, 1.0}};
    return summary_json(make_report(recorder), from);
  }

  static constexpr const char* kJournal = "journal.jsonl.zst";
  static constexpr const char* kBegunJournal = "journal.jsonl.zst.partial";

  std::filesystem::path path;
  const Scenario& scenario;
  DurationOrigin origin;
  LastTime last;
  Recorder recorder;
  RequestsCsv requests;
  StepsCsv steps;
  TimelineWriter timeline;
  JournalWriter journal;
};

ServedFiles::ServedFiles(std::string folder, bool force) : folder_(std::move(folder)), force_(force) {}
ServedFiles::~ServedFiles() = default;

void ServedFiles::open(const Scenario& scenario, DurationOrigin origin) {
  // An earlier session's files go when this one has some of its own.
  if (!force_) prepare_run_folder(folder_, false);
  std::filesystem::create_directories(folder_);
  session_ = std::make_unique<Session>(folder_, scenario, std::move(origin));
}

std::vector<Observer*> ServedFiles::observers() const {
  return session_ ? session_->observers() : std::vector<Observer*>{};
}

JournalWriter* ServedFiles::journal() const { return session_ ? &session_->journal : nullptr; }

std::vector<std::string> ServedFiles::commit(const Cluster& cluster) {
  if (!session_) return {};
  if (force_) prepare_run_folder(folder_, true);
  write_file(session_->file("config.yaml"), write_scenario(session_->scenario));
  session_->requests.commit();
  session_->steps.commit();
  session_->timeline.commit();
  session_->close_journal(cluster);
  write_file(session_->file("summary.json"), session_->summary(cluster));
  std::vector<std::string> paths;
  for (const char* name :
       {"config.yaml", "requests.csv", "steps.csv", "timeline.json", Session::kJournal, "summary.json"}) {
    paths.push_back(session_->file(name));
  }
  return paths;
}

}  // namespace servetwin
