// Makes each part of a run from its piece of the scenario and collects what goes wrong.
#include "scenarios/assemble.h"

#include <utility>
#include <vector>

#include "engine/workload/plugin_choice.h"
#include "scenarios/config_tree.h"

namespace servetwin {
namespace {

template <class Maker>
void collect(std::vector<Problem>& problems, const Maker& make) {
  try {
    make();
  } catch (const ConfigError& error) {
    problems.insert(problems.end(), error.problems().begin(), error.problems().end());
  }
}

Slo slo_of(const SloSpec& spec) { return {spec.ttft, spec.tpot, spec.itl, spec.e2e}; }

RecorderOptions recorder_options(const Scenario& scenario, const RequestSource& source) {
  const RunSpec& run = scenario.spec().run;
  RecorderOptions options;
  options.num_replicas = static_cast<std::size_t>(scenario.spec().replicas);
  options.measure_from = Time{run.warmup};
  if (run.measure) options.measure_to = options.measure_from + *run.measure;
  options.classes.clear();
  for (const std::string& name : source.facts().classes)
    options.classes.push_back({name, slo_of(scenario.spec().slo)});
  if (options.classes.empty()) options.classes.push_back({"default", slo_of(scenario.spec().slo)});
  return options;
}

CostContext cost_context(const Scenario& scenario) {
  CostContext context;
  context.model = &scenario.model;
  context.device = &scenario.device;
  context.tp = static_cast<int>(scenario.spec().layout.tp);
  context.pp = static_cast<int>(scenario.spec().layout.pp);
  context.dtype = scenario.spec().engine.dtype;
  context.kv_dtype = scenario.spec().engine.kv_dtype;
  return context;
}

// The requests whose prompts fill the prefix cache before the run; null for a cold one.
std::unique_ptr<RequestSource> warm_source(const Scenario& scenario) {
  const std::string& from = scenario.spec().initial.kv_cache;
  if (from == "cold") return nullptr;
  const ConfigNode* node = find_path(scenario.resolved, "spec.initial.kv_cache");
  ConfigNode trace = *node;
  trace.text = from;
  return make_source(read_workload(trace, ""), 0);
}

}  // namespace

EngineConfig engine_config(const Scenario& scenario) {
  EngineConfig config = scenario.spec().engine.config;
  config.max_model_len = scenario.max_model_len();
  config.num_blocks = scenario.num_blocks();
  config.in_flight = scenario.spec().engine.in_flight;
  config.hash_seed = static_cast<std::uint64_t>(scenario.spec().seed);
  return config;
}

// Ids of their own keep text that nobody shares apart from that of the run's requests.
std::int64_t warm_caches(RequestSource& source, Cluster& cluster) {
  constexpr std::uint32_t kWarmIds = 0x80000000U;
  std::int64_t kept = 0;
  WorkloadItem item;
  while (source.next_arrival() != kTimeNever) {
    source.take(item);
    item.spec.id = RequestId{raw(item.spec.id) | kWarmIds};
    kept += cluster.warm(item.spec) ? 1 : 0;
  }
  return kept;
}

RunParts assemble(const Scenario& scenario) {
  const ScenarioSpec& spec = scenario.spec();
  RunParts parts;
  std::vector<Problem> problems;
  collect(problems, [&] { parts.warm = warm_source(scenario); });
  collect(problems, [&] {
    parts.cost = make_choice<CostModel>(spec.cost, "model", "{model: analytic}", cost_context(scenario));
  });
  collect(problems, [&] { parts.router = make_choice<Router>(spec.router, "name", "round_robin"); });
  collect(problems, [&] { make_rules(spec.engine.rules, spec.engine.rule_parameters); });
  std::unique_ptr<RequestSource> source;
  collect(problems, [&] { source = make_source(scenario.workload, static_cast<std::uint64_t>(spec.seed)); });
  if (!problems.empty()) throw ConfigError(std::move(problems));

  parts.cluster.replicas.assign(static_cast<std::size_t>(spec.replicas), engine_config(scenario));
  parts.make_rules = [rules = spec.engine.rules, parameters = spec.engine.rule_parameters] {
    return make_rules(rules, parameters);
  };
  parts.recorder = recorder_options(scenario, *source);
  if (spec.front_end.is_modelled()) {
    parts.sim.front_end = {static_cast<int>(spec.front_end.servers), spec.front_end.per_request,
                           spec.front_end.per_token};
  }
  const Time end = spec.run.drain ? parts.recorder.measure_to + *spec.run.drain : kTimeNever;
  parts.source =
      std::make_unique<RunSource>(std::move(source), parts.recorder, end, spec.front_end.is_modelled());
  return parts;
}

}  // namespace servetwin
