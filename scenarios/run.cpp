// Puts core, backend and observers together, lets them run, and writes what came out.
#include "scenarios/run.h"

#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/digest.h"
#include "engine/base/text.h"
#include "engine/journal/journal_writer.h"
#include "engine/metrics/output_file.h"
#include "engine/metrics/prometheus_text.h"
#include "engine/metrics/row_files.h"
#include "engine/metrics/summary.h"
#include "engine/metrics/timeline.h"
#include "scenarios/assemble.h"
#include "scenarios/run_facts.h"
#include "scenarios/run_folder.h"
#include "scenarios/run_world.h"

namespace servetwin {
namespace {

constexpr std::size_t kStalledShown = 20;

// Keeps the context of failed checks up to date, reports progress, and remembers the last time.
class RunMonitor final : public Observer {
 public:
  RunMonitor(const RunOptions& options, std::optional<std::int64_t> expected)
      : options_(options), expected_(expected) {}

  void on_event(const StampedEvent& event) override {
    check_context().time_ns = to_ns(event.time);
    check_context().event_number = ++events_;
    end_ = std::max(end_, event.time);
    if (options_.progress && events_ % kEventsPerReport == 0) options_.progress({end_, ended_, expected_});
  }

  void on_end(const RequestRecord& /*record*/) override { ++ended_; }
  Time end() const { return end_; }

 private:
  static constexpr std::uint64_t kEventsPerReport = 16'384;

  const RunOptions& options_;
  std::optional<std::int64_t> expected_;
  std::uint64_t events_ = 0;
  std::int64_t ended_ = 0;
  Time end_ = kTimeZero;
};

// The files that grow while the run goes on.
struct StreamedFiles {
  std::unique_ptr<RequestsCsv> requests;
  std::unique_ptr<StepsCsv> steps;
  std::unique_ptr<TimelineWriter> timeline;
  std::unique_ptr<JournalWriter> journal;
};

class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        parts_(assemble(scenario)),
        recorder_(parts_.recorder),
        monitor_(options, parts_.source->total()) {
    check_context().seed = seed();
    parts_.sim.stop = options.stop;
    if (options.plain_loop) use_plain_loop(parts_);
  }

  RunResult go() {
    if (!options_.out.empty()) open_files();
    Cluster cluster(parts_.cluster, parts_.make_rules, std::move(parts_.router), observers());
    WorldOutcome outcome;
    // The workload was refused or a device failed, on the way: what was served until then is written all the
    // same.
    std::exception_ptr refused;
    try {
      outcome = world().serve(cluster, parts_, streamed_.journal.get(), options_.stop);
    } catch (const ConfigError&) {
      refused = std::current_exception();
    } catch (const ExecutionError&) {
      refused = std::current_exception();
    }
    outcome.interrupted |= refused != nullptr;
    if (outcome.interrupted) {
      result_.state = RunState::kInterrupted;
    } else if (cluster.unfinished() > 0) {
      result_.state = RunState::kStalled;
      result_.stalled = cluster.stalled(kStalledShown);
    }
    result_.steps = outcome.steps;
    recorder_.finish(monitor_.end(), result_.state);
    result_.report = make_report(recorder_);
    fill_provenance(cluster);
    fill_deployment();
    if (!options_.out.empty()) close_files(cluster);
    if (refused) std::rethrow_exception(refused);
    return std::move(result_);
  }

 private:
  RunWorld& world() const { return *world_; }
  std::uint64_t seed() const { return static_cast<std::uint64_t>(scenario_.spec().seed); }

  std::vector<Observer*> observers() {
    std::vector<Observer*> all = {&monitor_, &recorder_};
    if (streamed_.requests) all.push_back(streamed_.requests.get());
    if (streamed_.steps) all.push_back(streamed_.steps.get());
    if (streamed_.timeline) all.push_back(streamed_.timeline.get());
    if (streamed_.journal) all.push_back(streamed_.journal.get());
    all.insert(all.end(), options_.observers.begin(), options_.observers.end());
    return all;
  }

  std::string file(const std::string& name) {
    result_.files.push_back((std::filesystem::path(options_.out) / name).string());
    return result_.files.back();
  }

  void open_files() {
    prepare_run_folder(options_.out, options_.force);
    write_file(file("config.yaml"), write_scenario(scenario_));
    std::vector<std::string> classes;
    for (const TrafficClass& one : parts_.recorder.classes) classes.push_back(one.name);
    streamed_.requests =
        std::make_unique<RequestsCsv>(file("requests.csv"), classes, parts_.recorder.output_delay);
    if (options_.steps) {
      streamed_.steps = std::make_unique<StepsCsv>(file("steps.csv"), parts_.recorder.num_replicas);
    }
    if (options_.timeline) {
      TimelineWriter::Options timeline;
      timeline.num_replicas = parts_.recorder.num_replicas;
      streamed_.timeline = std::make_unique<TimelineWriter>(file("timeline.json"), timeline);
    }
    if (!options_.journal) return;
    streamed_.journal = std::make_unique<JournalWriter>(
        file("journal.jsonl.zst"), journal_header(scenario_, world().profile_hash(parts_)));
    parts_.source->on_take([this](const RequestSpec& request) { streamed_.journal->add_request(request); });
  }

  void close_files(const Cluster& cluster) {
    if (streamed_.requests) streamed_.requests->commit();
    if (streamed_.steps) streamed_.steps->commit();
    if (streamed_.timeline) streamed_.timeline->commit();
    if (streamed_.journal) {
      JournalFooter footer;
      footer.complete = result_.state != RunState::kInterrupted;
      footer.decisions = cluster.decisions_digest();
      footer.timeline = cluster.timeline_digest();
      streamed_.journal->close(footer);
    }
    const ServerLabels labels{scenario_.model.name, scenario_.max_model_len(),
                              scenario_.spec().engine.config.block_size};
    write_file(file("metrics.prom"), prometheus_text(recorder_, labels));
    write_file(file("summary.json"), summary_json(result_.report, result_.provenance));
  }

  void fill_provenance(const Cluster& cluster) {
    const SourceFacts facts = parts_.source->facts();
    result_.provenance = run_provenance(scenario_, cluster);
    Provenance& from = result_.provenance;
    from.workload = parts_.source->describe();
    from.trace_hash = facts.content;
    from.cost_model = world().describe(parts_);
    from.profile_hash = world().profile_hash(parts_);
    from.evidence = {{world().evidence(parts_), 1.0}};
    from.oracle = facts.uses_oracle;
    from.closed_loop = facts.closed_loop;
  }

  // "rtx-4090" as "RTX 4090", "h100-sxm" without its form.
  static std::string device_title(std::string id) {
    for (const std::string& form : {std::string("-sxm"), std::string("-server")}) {
      if (id.size() > form.size() && id.compare(id.size() - form.size(), form.size(), form) == 0)
        id.resize(id.size() - form.size());
    }
    for (char& c : id) {
      if (c == '-') c = ' ';
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return id;
  }

  // "meta-llama/Llama-3.1-8B" without its owner, and the rate of what arrived.
  void fill_deployment() {
    const ScenarioSpec& spec = scenario_.spec();
    result_.deployment.devices = fmt::format("{} × {}", spec.replicas * spec.layout.tp * spec.layout.pp,
                                             device_title(scenario_.device.name));
    result_.deployment.model = scenario_.model.name.substr(scenario_.model.name.rfind('/') + 1);
    const std::int64_t arrivals = result_.report.measured.outcomes.injected;
    const double span = arrivals > 1 ? to_seconds(recorder_.last_arrival() - recorder_.first_arrival()) : 0;
    result_.deployment.load = span > 0 ? fmt::format("{:.3g} req/s", static_cast<double>(arrivals - 1) / span)
                                       : fmt::format("{} requests", arrivals);
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  RunParts parts_;
  Recorder recorder_;
  RunMonitor monitor_;
  SimulatedWorld simulated_;
  RunWorld* world_ = options_.world != nullptr ? options_.world : &simulated_;
  StreamedFiles streamed_;
  RunResult result_;
};

}  // namespace

RunResult run_scenario(const Scenario& scenario, const RunOptions& options) {
  return Run(scenario, options).go();
}

}  // namespace servetwin
