// A run is one thread's work; the last run of a seed also compares that seed, so rows live no longer.
#include "scenarios/comparison_run.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "scenarios/request_rows.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

void refuse_unnamed_loop(const ComparedRun& run, const std::string& name) {
  const auto unnamed = [](const RequestRow& row) { return row.session == kNoSession; };
  if (!run.rows.closed_loop || std::none_of(run.rows.rows.begin(), run.rows.rows.end(), unnamed)) return;
  throw ConfigError(Problem{"CMP002", SourcePlace{name, 0, 0}, "spec.workload.closed_loop",
                            "which request is which depends on who was served first",
                            "give the workload sessions, or arrivals in place of users"});
}

class Comparison {
 public:
  Comparison(const ComparisonPlan& plan, const ComparisonRunOptions& options)
      : plan_(plan), options_(options), facts_(num_runs()), runs_(num_runs()), values_(plan.seeds.size()) {
    left_.assign(plan.seeds.size(), static_cast<int>(plan.variants.size()));
  }

  ComparisonOutcome go() {
    std::vector<std::thread> others;
    const auto threads = std::min<std::size_t>(static_cast<std::size_t>(options_.threads), num_runs());
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread& other : others) other.join();
    if (!failures_.empty()) std::rethrow_exception(failures_.begin()->second);
    return outcome();
  }

 private:
  std::size_t num_runs() const { return plan_.seeds.size() * plan_.variants.size(); }
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  void work() {
    while (const auto index = next()) {
      try {
        simulate(*index);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failures_.emplace(*index, std::current_exception());
      }
    }
  }

  // In order, so that after a failure everything before it still comes to its end, and the first failure is
  // the same whatever the threads.
  std::optional<std::size_t> next() {
    const std::lock_guard lock(mutex_);
    if (next_ == num_runs() || !failures_.empty() || stopped()) return std::nullopt;
    return next_++;
  }

  void simulate(std::size_t index) {
    const std::size_t seed = index / plan_.variants.size();
    const ComparedScenario& variant = plan_.variants[index % plan_.variants.size()];
    const Scenario scenario = variant.with_seed(plan_.seeds[seed]);
    RowCollector rows(scenario.spec().front_end.per_output);
    RunOptions options;
    options.stop = options_.stop;
    options.observers.push_back(&rows);
    const RunResult result = run_scenario(scenario, options);
    if (result.state == RunState::kInterrupted) return;
    ComparedRun& run = runs_[index];
    run.rows.rows = rows.take();
    run.rows.closed_loop = result.provenance.closed_loop;
    for (const ClassReport& one : result.report.classes) run.rows.classes.push_back(one.name);
    run.figures = run_figures(result.report);
    const Provenance& from = result.provenance;
    facts_[index] = {variant.name,         plan_.seeds[seed],
                     from.scenario_hash,   from.decisions_digest,
                     from.timeline_digest, from.evidence.front().first,
                     from.cost_model,      result.state == RunState::kStalled};
    refuse_unnamed_loop(run, variant.name);
    for (const std::size_t whole : whole_with_run_of(seed)) compare(whole);
  }

  // The seeds that can be compared now that one more run of `seed` is there. The first seed's lengths make
  // the groups of all, so the others wait for it.
  std::vector<std::size_t> whole_with_run_of(std::size_t seed) {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (options_.progress) options_.progress(done_, static_cast<int>(num_runs()));
    if (--left_[seed] == 0) waiting_.push_back(seed);
    if (left_.front() > 0) return {};
    if (seed == 0) bounds_ = length_bounds(runs_[plan_.baseline].rows);
    return std::exchange(waiting_, {});
  }

  void compare(std::size_t seed) {
    const std::size_t variants = plan_.variants.size();
    const auto first = runs_.begin() + static_cast<std::ptrdiff_t>(seed * variants);
    std::vector<ComparedRun> runs(std::make_move_iterator(first),
                                  std::make_move_iterator(first + static_cast<std::ptrdiff_t>(variants)));
    for (std::size_t v = 0; v < variants; ++v) {
      check_comparable(runs[plan_.baseline], plan_.variants[plan_.baseline].name, runs[v],
                       plan_.variants[v].name);
    }
    values_[seed] = compare_seed(runs, plan_.baseline, bounds_);
  }

  ComparisonOutcome outcome() {
    ComparisonOutcome out;
    out.name = plan_.name;
    std::vector<SeedValues> whole;
    for (std::size_t seed = 0; seed < plan_.seeds.size(); ++seed) {
      if (!values_[seed]) {
        out.complete = false;
        continue;
      }
      whole.push_back(std::move(*values_[seed]));
      const auto first = facts_.begin() + static_cast<std::ptrdiff_t>(seed * plan_.variants.size());
      out.runs.insert(out.runs.end(), first, first + static_cast<std::ptrdiff_t>(plan_.variants.size()));
    }
    std::vector<std::string> names;
    for (const ComparedScenario& one : plan_.variants) names.push_back(one.name);
    if (!whole.empty()) out.result = judge(names, plan_.baseline, whole, plan_.options);
    return out;
  }

  const ComparisonPlan& plan_;
  const ComparisonRunOptions& options_;
  std::vector<ComparedRunFacts> facts_;  // by seed, then variant, as the runs
  std::vector<ComparedRun> runs_;
  std::vector<std::optional<SeedValues>> values_;  // of seeds whose runs are all there
  std::mutex mutex_;                               // of what follows
  std::size_t next_ = 0;
  int done_ = 0;
  std::vector<int> left_;             // runs of a seed
  std::vector<std::size_t> waiting_;  // seeds whose runs are all there, to be compared
  LengthBounds bounds_;               // from the end of the first seed on
  std::map<std::size_t, std::exception_ptr> failures_;
};

}  // namespace

void check_comparable(const ComparedRun& a,
                      const std::string& a_name,
                      const ComparedRun& b,
                      const std::string& b_name) {
  if (const auto mismatch = first_mismatch(a.rows, b.rows)) {
    throw ConfigError(
        Problem{"CMP001", SourcePlace{b_name, 0, 0}, "",
                fmt::format("was not given the requests of {}: the first that differs is "
                            "request {}, {} {} there and {} here",
                            a_name, raw(mismatch->request), mismatch->field, mismatch->a, mismatch->b),
                "compare runs of one workload and seed, with the same max_model_len and run: window"});
  }
  if (a.figures.slos == b.figures.slos) return;
  throw ConfigError(Problem{"CMP003", SourcePlace{b_name, 0, 0}, "spec.slo",
                            "is judged by other SLOs than " + a_name, "give both the same slo"});
}

SeedValues compare_seed(const std::vector<ComparedRun>& runs,
                        std::size_t baseline,
                        const LengthBounds& bounds) {
  SeedValues seed;
  for (const ComparedRun& run : runs) {
    seed.variants.push_back(compare_runs(runs[baseline], run, bounds));
    seed.held.push_back(run.figures.held);
  }
  return seed;
}

ComparisonOutcome run_comparison(const ComparisonPlan& plan, const ComparisonRunOptions& options) {
  return Comparison(plan, options).go();
}

}  // namespace servetwin
