// Makes each part of a run from its piece of the scenario and collects what goes wrong.
#include "scenarios/assemble.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "costmodels/cost_estimator.h"
#include "engine/workload/plugin_choice.h"
#include "scenarios/config_tree.h"
#include "scenarios/input_text.h"
#include "scenarios/yaml_loader.h"

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

// By ClassId: the order in which the workload declares its classes.
std::vector<TrafficClass> traffic_classes(const Scenario& scenario) {
  const SloSpec& base = scenario.spec().slo;
  std::vector<TrafficClass> classes;
  const auto add = [&](const std::string& name, const SloSpec& slo) {
    classes.push_back({name, {slo.ttft, slo.tpot, slo.itl, slo.e2e}});
  };
  for (const ClassSpec& one : scenario.workload.classes)
    add(one.name, one.slo.value_or(SloSpec{}).over(base));
  if (classes.empty()) add("default", base);
  return classes;
}

RecorderOptions recorder_options(const Scenario& scenario) {
  const RunSpec& run = scenario.spec().run;
  RecorderOptions options;
  options.num_replicas = static_cast<std::size_t>(scenario.spec().replicas);
  options.measure_from = Time{run.warmup};
  if (run.measure) options.measure_to = options.measure_from + *run.measure;
  options.classes = traffic_classes(scenario);
  options.output_delay = scenario.spec().front_end.per_output;
  return options;
}

CostContext cost_context(const Scenario& scenario) {
  CostContext context;
  context.model = &scenario.model;
  context.device = &scenario.device;
  context.tp = static_cast<int>(scenario.spec().layout.tp);
  context.pp = static_cast<int>(scenario.spec().layout.pp);
  const EngineConfig& engine = scenario.spec().engine.config;
  context.limits = {engine.max_num_batched_tokens.value, engine.max_num_seqs, scenario.max_model_len().value};
  context.sink = scenario.spec().engine.streaming.sink.value;
  if (scenario.engine_set) context.engine = &*scenario.engine_set;
  if (scenario.operators) context.operators = &*scenario.operators;
  context.dtype = scenario.spec().engine.dtype;
  context.kv_dtype = scenario.spec().engine.kv_dtype;
  context.load_tree = &load_yaml_file;
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

// Before a cost model's reader waits for a pipe, or for the end of a device: any value may name a file.
void check_cost_files(const ConfigNode& cost) {
  for (const auto& [key, node] : cost.entries) {
    std::optional<Problem> problem = node.is_scalar() ? file_problem(node.text) : std::nullopt;
    std::error_code failed;
    if (!problem || problem->code != "CFG002" || std::filesystem::is_directory(node.text, failed)) continue;
    problem->path = node.path;
    problem->remedy = "name a file; devices and pipes are not read";
    throw ConfigError(std::move(*problem));
  }
}

// Rules that lack something say so without knowing where they were chosen.
RuleSet placed_rules(const Scenario& scenario, const RuleContext& context) {
  const EngineSpec& engine = scenario.spec().engine;
  try {
    return make_rules(engine.rules, engine.rule_parameters, context);
  } catch (const ConfigError& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
      if (problem.place.file.empty()) problem.place = nearest_place(scenario.resolved, problem.path);
    }
    throw ConfigError(std::move(problems));
  }
}

void refuse_setting(const Scenario& scenario, const char* path, std::string message, std::string remedy) {
  throw ConfigError(
      Problem{"CFG202", nearest_place(scenario.resolved, path), path, std::move(message), std::move(remedy)});
}

// What somebody set beside the preset and no rule asks would be ignored without a word.
void check_unread_settings(const Scenario& scenario, const RuleSet& rules) {
  const EngineSpec& engine = scenario.spec().engine;
  const bool asked =
      (rules.step == nullptr || rules.step->asks_rules()) && rules.admission->keeps_watermark();
  if (asked) return;
  const auto* preset = Registry<Preset>::instance().find(engine.preset);
  const EngineConfig usual = preset->make(ConfigNode{}, {})->engine();
  const std::string who =
      rules.step != nullptr && !rules.step->asks_rules() ? engine.rules.step : engine.rules.admission;
  const char* remedy = "leave it out, or choose rules: {step: continuous, admission: optimistic}";
  if (engine.config.watermark != usual.watermark)
    refuse_setting(scenario, "spec.engine.watermark", who + " keeps no watermark", remedy);
  if (engine.config.full_sequence_gate != usual.full_sequence_gate)
    refuse_setting(scenario, "spec.engine.full_sequence_gate", who + " has no such gate", remedy);
}

void check_rules(const Scenario& scenario, const RuleContext& context) {
  const EngineSpec& engine = scenario.spec().engine;
  const RuleSet rules = placed_rules(scenario, context);
  check_unread_settings(scenario, rules);
  const bool swaps = rules.pressure->swaps();
  if (swaps == (engine.config.host_blocks.value > 0)) return;
  if (swaps)
    refuse_setting(scenario, "spec.engine.rules.pressure", "swaps, and there is no host tier to swap to",
                   "give spec.engine.host_blocks, or pressure: recompute");
  refuse_setting(scenario, "spec.engine.host_blocks",
                 "are for requests swapped out, and the pressure rule never swaps",
                 "write rules: {pressure: swap}, or leave host_blocks out");
}

}  // namespace

EngineConfig engine_config(const Scenario& scenario) {
  EngineConfig config = scenario.spec().engine.config;
  config.max_model_len = scenario.max_model_len();
  config.num_blocks = scenario.num_blocks();
  config.kv_groups = scenario.kv_groups.retention;
  config.in_flight = scenario.spec().engine.in_flight;
  config.hash_seed = static_cast<std::uint64_t>(scenario.spec().seed);
  return config;
}

// Each device of a replica copies its share over its own link to the host.
double swap_block_ns(const Scenario& scenario) {
  const EngineSpec& engine = scenario.spec().engine;
  const Bytes token = kv_token_bytes(scenario.model, engine.kv_format(),
                                     static_cast<int>(scenario.spec().layout.tp), scenario.model.layers);
  const Bytes block = token * engine.config.block_size.value;
  return static_cast<double>(block.value) / scenario.device.host_link.value * 1e9;
}

RuleContext rule_context(const Scenario& scenario, const StepTimeEstimator* estimator) {
  RuleContext context;
  context.estimator = estimator;
  context.swap_block_ns = swap_block_ns(scenario);
  for (const TrafficClass& one : traffic_classes(scenario))
    context.classes.push_back({one.slo.ttft, one.slo.tpot});
  return context;
}

// A replayed step's time belongs to that step, and rows are not known ahead.
std::unique_ptr<StepTimeEstimator> estimator_over(const CostModel& cost) {
  if (cost.needs_rows() || cost.keyed_by_step()) return nullptr;
  return std::make_unique<CostEstimator>(cost);
}

RuleInputs rule_inputs(const Scenario& scenario) {
  RuleInputs inputs;
  try {
    check_cost_files(scenario.spec().cost);
    inputs.cost =
        make_choice<CostModel>(scenario.spec().cost, "model", "{model: analytic}", cost_context(scenario));
    inputs.estimator = estimator_over(*inputs.cost);
  } catch (const ConfigError&) {
    inputs.estimator = nullptr;  // a profile that is not here: only rules that need it refuse
  }
  inputs.context = rule_context(scenario, inputs.estimator.get());
  return inputs;
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

void use_plain_loop(RunParts& parts) {
  for (EngineConfig& engine : parts.cluster.replicas) engine.plain_loop = true;
  parts.sim.shortcut = false;
}

RunParts assemble(const Scenario& scenario) {
  const ScenarioSpec& spec = scenario.spec();
  RunParts parts;
  std::vector<Problem> problems;
  collect(problems, [&] { parts.warm = warm_source(scenario); });
  collect(problems, [&] {
    check_cost_files(spec.cost);
    parts.cost = make_choice<CostModel>(spec.cost, "model", "{model: analytic}", cost_context(scenario));
  });
  collect(problems, [&] { parts.router = make_choice<Router>(spec.router, "name", "round_robin"); });
  if (parts.cost) parts.estimator = estimator_over(*parts.cost);
  const RuleContext context = rule_context(scenario, parts.estimator.get());
  collect(problems, [&] { check_rules(scenario, context); });
  std::unique_ptr<RequestSource> source;
  collect(problems, [&] { source = make_source(scenario.workload, static_cast<std::uint64_t>(spec.seed)); });
  if (!problems.empty()) throw ConfigError(std::move(problems));

  parts.cluster.replicas.assign(static_cast<std::size_t>(spec.replicas), engine_config(scenario));
  // Members of the decode pool are summed up, never cut one by one.
  const Tokens window{parts.cost->window()};
  for (EngineConfig& engine : parts.cluster.replicas) engine.priced_window = window;
  if (window.value > 0) use_plain_loop(parts);
  parts.make_rules = [rules = spec.engine.rules, parameters = spec.engine.rule_parameters, context] {
    return make_rules(rules, parameters, context);
  };
  parts.recorder = recorder_options(scenario);
  if (spec.front_end.is_modelled()) {
    parts.sim.front_end = {static_cast<int>(spec.front_end.servers), spec.front_end.per_request,
                           spec.front_end.per_token};
  }
  parts.sim.front_end.per_output = spec.front_end.per_output;
  parts.sim.swap_block_ns = swap_block_ns(scenario);
  if (scenario.slow_readers_pause()) {
    parts.sim.front_end.slow_readers_pause = true;
    parts.sim.front_end.bytes_per_token = *spec.front_end.bytes_per_token;
    use_plain_loop(parts);  // only its plans say whose token each is
  }
  const Time end = spec.run.drain ? parts.recorder.measure_to + *spec.run.drain : kTimeNever;
  const ConfigNode* workload = find_path(scenario.resolved, "spec.workload");
  parts.source =
      std::make_unique<RunSource>(std::move(source), parts.recorder, end, spec.front_end.is_modelled(),
                                  workload != nullptr ? workload->place : SourcePlace{});
  const RuleSet rules = parts.make_rules();
  parts.tells_outputs = rules.predictor != nullptr && rules.predictor->oracle();
  if (parts.tells_outputs) parts.source->tell_outputs();
  return parts;
}

}  // namespace servetwin
