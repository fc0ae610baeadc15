// A case is the scenario with some of its workload's keys laid over.
#include "cli/fidelity_plan.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "scenarios/assemble.h"
#include "scenarios/run.h"

namespace servetwin {
namespace {

using Keys = std::vector<std::string>;

constexpr std::int64_t kMostArrivals = 100'000;

// Lengths that fit into what the engine allows of one request.
struct Mix {
  std::string name;  // empty: the scenario's own
  Keys keys;
};

std::string uniform(std::int64_t low, std::int64_t high) {
  return fmt::format("{{distribution: uniform, low: {}, high: {}}}", std::max<std::int64_t>(1, low),
                     std::max<std::int64_t>(1, high));
}

Mix mix(const std::string& name, const std::string& input, const std::string& output) {
  return {
      name,
      {fmt::format("workload.lengths={{input: {}, output: {}}}", input, output), "workload.max_tokens=null"}};
}

class Planner {
 public:
  Planner(const std::string& name, ScenarioOverrides given, const std::string& profile, int threads)
      : name_(name), given_(std::move(given)) {
    const std::string file = std::filesystem::absolute(profile).lexically_normal().string();
    given_.set.push_back(fmt::format("cost={{model: fitted, profile: \"{}\", threads: {}}}", file, threads));
    own_ = load({});
  }

  std::vector<PlannedCase> plan(bool full) {
    std::vector<PlannedCase> cases;
    if (!has_rate()) {
      cases.push_back({"as given", "given", FidelityKind::kLoaded, std::nullopt, *own_});
      return cases;
    }
    cases.push_back({"everyone at once", "saturated", FidelityKind::kSaturated, {}, saturated({})});
    const double capacity = requests_per_second(cases.front().scenario);
    cases.push_back({"as given", "given", FidelityKind::kLoaded, offered_rate() / capacity, *own_});
    if (!full) return cases;
    const std::int64_t longest = own_->max_model_len().value;
    add_loads(cases, {"", {}}, {0.3, 0.5, 0.7, 0.9, 1.1});
    add_loads(cases, mix("long prompts", uniform(longest / 4, longest / 2), uniform(1, longest / 16)),
              {0.4, 0.8});
    add_loads(cases, mix("long answers", uniform(1, longest / 16), uniform(longest / 8, longest / 4)),
              {0.4, 0.8});
    return cases;
  }

 private:
  Scenario load(const Keys& keys) const {
    ScenarioOverrides overrides = given_;
    overrides.set.insert(overrides.set.end(), keys.begin(), keys.end());
    return load_scenario(name_, overrides);
  }

  bool has_rate() const { return !own_->workload.trace && !own_->workload.closed_loop; }

  // Nobody leaves, and as many come as otherwise, or enough to fill all places some times.
  Scenario saturated(Keys keys) const {
    const std::int64_t places = own_->spec().engine.config.max_num_seqs * own_->spec().replicas;
    keys.insert(keys.end(),
                {"workload.arrivals=all_at_once", "workload.duration=null",
                 fmt::format("workload.num_requests={}", own_->workload.num_requests.value_or(8 * places)),
                 "workload.cancellations=null", "workload.timeouts=null", "run=null"});
    return load(keys);
  }

  static double requests_per_second(const Scenario& scenario) {
    const Report report = run_scenario(scenario).report;
    return report.per_second(report.measured.outcomes.completed);
  }

  double offered_rate() const {
    const RunParts parts = assemble(*own_);
    std::int64_t count = 0;
    Time first = kTimeZero;
    Time last = kTimeZero;
    for (WorkloadItem item; count < kMostArrivals && parts.source->next_arrival() != kTimeNever; ++count) {
      last = parts.source->next_arrival();
      if (count == 0) first = last;
      parts.source->take(item);
    }
    return last > first ? static_cast<double>(count - 1) / to_seconds(last - first) : 1e9;
  }

  void add_loads(std::vector<PlannedCase>& cases,
                 const Mix& lengths,
                 const std::vector<double>& loads) const {
    const double capacity = requests_per_second(saturated(lengths.keys));
    for (const double share : loads) {
      Keys keys = lengths.keys;
      keys.push_back(fmt::format("workload.arrivals={{process: poisson, rate: {:.4g}/s}}", share * capacity));
      const std::string what = lengths.name.empty() ? "" : lengths.name + " at ";
      cases.push_back({fmt::format("{}{} of capacity", what, share),
                       fmt::format("{}{}", lengths.name.empty() ? "load" : lengths.name.substr(5), share),
                       FidelityKind::kLoaded, share, load(keys)});
    }
  }

  std::string name_;
  ScenarioOverrides given_;
  std::optional<Scenario> own_;
};

}  // namespace

std::vector<PlannedCase> plan_fidelity(const std::string& name,
                                       const ScenarioOverrides& given,
                                       const std::string& profile,
                                       int threads,
                                       bool full) {
  return Planner(name, given, profile, threads).plan(full);
}

}  // namespace servetwin
