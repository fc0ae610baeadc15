// Checks a scenario as a whole and lists everything that is wrong, each with its key path and place.
#include "scenarios/validate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "costmodels/cost_model.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/serving/kv_windows.h"
#include "engine/serving/preset.h"
#include "engine/serving/router.h"
#include "engine/serving/rules.h"
#include "scenarios/assemble.h"
#include "scenarios/config_tree.h"
#include "scenarios/devices.h"
#include "scenarios/model_source.h"

namespace servetwin {
namespace {

constexpr std::int64_t kMaxDevices = 65'536;

class Validator {
 public:
  Validator(Scenario& scenario, ConfigNode& root, std::vector<Problem>& problems)
      : scenario_(scenario), spec_(scenario.document.spec), root_(root), problems_(problems) {}

  void run() {
    check_name();
    check_capacity();
    check_engine();
    check_size();
    check_rules();
    check_plugin<CostModel>("spec.cost", "model");
    check_plugin<Router>("spec.router", "name");
    if (is_sound("spec.workload")) {
      collect("spec.workload", [&] { scenario_.workload = read_workload(spec_.workload, ""); });
    }
    check_readers();
    const bool has_model =
        is_sound("spec.model") && collect("spec.model", [&] { scenario_.model = named_model(spec_.model); });
    const bool has_device = is_sound("spec.device") &&
                            collect("spec.device", [&] { scenario_.device = find_device(spec_.device); });
    const ConfigNode* engine = find_path(root_, "spec.cost.engine");
    if (engine != nullptr && engine->is_scalar())
      collect("spec.cost.engine", [&] { scenario_.engine_set = find_engine_set(engine->text); });
    if (has_device && !scenario_.device.operators.empty() && names_cost_model("hybrid"))
      collect("spec.device", [&] { scenario_.operators = find_operators(scenario_.device.operators); });
    if (has_model) check_model();
    if (has_model && problems_.empty()) plan_kv_groups();
    if (has_model && has_device && problems_.empty()) plan_memory();
  }

 private:
  static std::string number(std::int64_t value) { return format_grouped(value); }

  void add(const char* code, const std::string& path, std::string message, std::string remedy) {
    if (!is_sound(path)) return;
    problems_.push_back({code, place_of(path), path, std::move(message), std::move(remedy)});
  }

  bool is_sound(const std::string& path) const {
    return std::none_of(problems_.begin(), problems_.end(), [&](const Problem& p) { return p.path == path; });
  }

  SourcePlace place_of(const std::string& path) const { return nearest_place(root_, path); }

  // Runs a reader; its problems get the key's place and path where they have none. Whether it went well.
  template <class Reader>
  bool collect(const std::string& path, const Reader& reader) {
    try {
      reader();
      return true;
    } catch (const ConfigError& error) {
      for (Problem problem : error.problems()) {
        if (problem.path.empty()) problem.path = path;
        if (problem.place.file.empty()) problem.place = place_of(path);
        problems_.push_back(std::move(problem));
      }
      return false;
    }
  }

  bool names_cost_model(const char* name) const {
    const ConfigNode* node = find_path(root_, "spec.cost.model");
    return node != nullptr && node->text == name;
  }

  void check_capacity() {
    const EngineSpec& engine = spec_.engine;
    if (engine.num_blocks && engine.memory_fraction) {
      add("CFG201", "spec.engine.memory_fraction", "num_blocks and memory_fraction are both given",
          "keep one of them; null takes back what an extended file gives");
    } else if (!engine.num_blocks && !engine.memory_fraction && is_sound("spec.engine.num_blocks") &&
               is_sound("spec.engine.memory_fraction")) {
      add("CFG201", "spec.engine", "the KV capacity must be given",
          "write `memory_fraction: 0.9`, or `num_blocks: N` where it is known");
    }
  }

  void check_engine() {
    const auto& sizes = spec_.engine.config.graph_sizes;
    if (!std::is_sorted(sizes.begin(), sizes.end())) {
      add("CFG202", "spec.engine.graph_sizes", "not in ascending order", "sort them");
    }
    if (spec_.engine.kv_scales && !is_scaled(spec_.engine.kv_format().dtype)) {
      add("CFG202", "spec.engine.kv_scales", "only an 8-bit KV cache has scales",
          "write kv_dtype: f8e4m3 or i8, or leave it out");
    }
    if (spec_.engine.in_flight.depth == 1 && spec_.engine.in_flight.speculate_outputs) {
      add("CFG202", "spec.engine.in_flight.depth",
          "with speculate_outputs there are two steps in flight at least",
          "set depth: 2, or speculate_outputs: false");
    }
    if (spec_.run.drain && !spec_.run.measure) {
      add("CFG202", "spec.run.drain", "counts from the end of the measured time, which is not given",
          "give run.measure too");
    }
    const std::string& kv_cache = spec_.initial.kv_cache;
    if (kv_cache != "cold" && kv_cache.rfind("trace:", 0) != 0) {
      add(kCodeBadValue, "spec.initial.kv_cache", '"' + kv_cache + "\" is not a choice",
          "write cold or trace:FILE");
    }
  }

  void check_readers() {
    if (scenario_.slow_readers_pause() && !spec_.front_end.bytes_per_token) {
      add("CFG202", "spec.front_end", "slow readers pause, and what a token is on the wire is not given",
          "write bytes_per_token: N, or slow_reader: merge");
    }
  }

  // The name becomes a folder below runs/.
  void check_name() {
    const std::string& name = scenario_.document.metadata.name;
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return c > ' ' && c != '/' && c != '\\' && c != 127;
    });
    if (plain && !name.empty() && name.front() != '.') return;
    add(kCodeBadValue, "metadata.name", '"' + name + "\" cannot name a folder of results",
        "use letters, digits, - and _");
  }

  void check_size() {
    const std::int64_t devices = spec_.replicas * spec_.layout.tp * spec_.layout.pp;
    if (devices > kMaxDevices) {
      add("CFG202", "spec.replicas",
          "replicas × tp × pp makes " + number(devices) + " devices, more than " + number(kMaxDevices),
          "lower one of them");
    }
  }

  template <class Interface>
  void check_name(const std::string& path, const std::string& name) {
    const auto& registry = Registry<Interface>::instance();
    if (registry.find(name) != nullptr || !is_sound(path)) return;
    ConfigNode node;
    node.path = path;
    node.place = place_of(path);
    problems_.push_back(unknown_name_problem(node, name, registry.names()));
  }

  void check_rules() {
    const RuleNames& rules = spec_.engine.rules;
    check_name<Preset>("spec.engine.preset", spec_.engine.preset);
    check_name<WaitingOrder>("spec.engine.rules.waiting_order", rules.waiting_order);
    check_name<BatchRule>("spec.engine.rules.batch", rules.batch);
    check_name<AdmissionRule>("spec.engine.rules.admission", rules.admission);
    check_name<VictimRule>("spec.engine.rules.victim", rules.victim);
    check_name<PressureRule>("spec.engine.rules.pressure", rules.pressure);
    check_name<YieldRule>("spec.engine.rules.yield", rules.yield);
    if (rules.predictor != kNoPredictor)
      check_name<Predictor>("spec.engine.rules.predictor", rules.predictor);
    check_name<StepForm>("spec.engine.rules.step", rules.step);
    check_rule_parameters();
    check_unasked_rules(rules);
    if (rules.yield != "never" && is_prefill_alone(rules.batch))
      add(kCodeInconsistent, "spec.engine.rules.yield", "in steps of " + rules.batch + " nobody gives way",
          "leave it at never, or choose running_first or decodes_first");
    if (rules.step != "continuous" && rules.yield != "never")
      add("CFG202", "spec.engine.rules.yield", "the steps of " + rules.step + " let nobody give way",
          "leave it at never, or choose a preset whose step is continuous");
  }

  static bool is_prefill_alone(const std::string& batch) {
    const auto* rule = Registry<BatchRule>::instance().find(batch);
    return rule != nullptr && rule->make(ConfigNode{}, {})->composition() == Composition::kPrefillAlone;
  }

  void check_rule_parameters() {
    const ConfigNode* given = find_path(root_, "spec.engine.rule_parameters");
    if (given == nullptr || !given->is_map()) return;
    std::vector<std::string> known;
    const auto add_names = [&known](const std::vector<std::string>& names) {
      known.insert(known.end(), names.begin(), names.end());
    };
    add_names(Registry<WaitingOrder>::instance().names());
    add_names(Registry<BatchRule>::instance().names());
    add_names(Registry<AdmissionRule>::instance().names());
    add_names(Registry<VictimRule>::instance().names());
    add_names(Registry<PressureRule>::instance().names());
    add_names(Registry<YieldRule>::instance().names());
    add_names(Registry<Predictor>::instance().names());
    add_names(Registry<StepForm>::instance().names());
    for (const auto& [rule, parameters] : given->entries) {
      if (std::find(known.begin(), known.end(), rule) == known.end())
        problems_.push_back(unknown_name_problem(parameters, rule, known));
    }
  }

  // A rule that somebody chose and that the step's form never asks would be ignored without a word.
  void check_unasked_rules(const RuleNames& rules) {
    const auto* form = Registry<StepForm>::instance().find(rules.step);
    const auto* preset = Registry<Preset>::instance().find(spec_.engine.preset);
    if (form == nullptr || preset == nullptr) return;
    if (form->make(ConfigNode{}, {})->asks_rules()) return;
    const RuleNames usual = preset->make(ConfigNode{}, {})->rules();
    const auto check = [&](const char* path, const std::string& name, const std::string& of_preset) {
      if (name == of_preset) return;
      add(kCodeInconsistent, path, "the steps of " + rules.step + " ask no such rule",
          "leave it out, or choose a preset whose step is continuous");
    };
    check("spec.engine.rules.admission", rules.admission, usual.admission);
    check("spec.engine.rules.batch", rules.batch, usual.batch);
  }

  // The name and the keys; their values are read when the plug-in is made.
  template <class Interface>
  void check_plugin(const std::string& path, const std::string& selector) {
    const ConfigNode* node = find_path(root_, path);
    if (node == nullptr || node->is_null()) return;
    const ConfigNode* name = node->is_map() ? node->find(selector) : node;
    if (name == nullptr || !name->is_scalar()) {
      return add(kCodeMissing, path, "must name one",
                 "write {" + selector + ": NAME}; valid: " + names<Interface>());
    }
    const auto& registry = Registry<Interface>::instance();
    const auto* entry = registry.find(name->text);
    if (entry == nullptr) {
      problems_.push_back(unknown_name_problem(*name, name->text, registry.names()));
    } else if (node->is_map()) {
      std::vector<std::string> known = {selector};
      for (const FieldInfo& field : entry->fields()) known.push_back(field.name);
      param_detail::add_unknown_keys(*node, known, problems_);
    }
  }

  template <class Interface>
  static std::string names() {
    return join(Registry<Interface>::instance().names(), ", ");
  }

  void check_model() {
    const ModelSpec& model = scenario_.model;
    const std::int64_t tp = spec_.layout.tp;
    if (model.heads % tp != 0) {
      add("CFG203", "spec.layout.tp",
          number(model.heads) + " attention heads cannot be split over " + number(tp) + " ranks",
          "use a divisor of " + number(model.heads));
    } else if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0) {
      add("CFG203", "spec.layout.tp",
          number(model.kv_heads) + " KV heads and " + number(tp) + " ranks divide neither way",
          "use a divisor or a multiple of " + number(model.kv_heads));
    }
    if (spec_.layout.pp > 1) {  // no cost model has stages, so none may answer as if it had
      add("CFG203", "spec.layout.pp",
          number(spec_.layout.pp) + " pipeline stages cannot be simulated by this version", "set pp: 1");
    }
    check_length(model);
  }

  void check_length(const ModelSpec& model) {
    EngineSpec& engine = spec_.engine;
    if (!engine.max_model_len && is_sound("spec.engine.max_model_len")) {
      engine.max_model_len = Tokens{model.max_position};
      ConfigNode& node = make_path(root_, "spec.engine.max_model_len");
      const std::string path = node.path;
      node = text_node(std::to_string(model.max_position), false, kOriginModel);
      node.path = path;
    } else if (engine.max_model_len && engine.max_model_len->value > model.max_position) {
      add("CFG203", "spec.engine.max_model_len",
          number(engine.max_model_len->value) + " is more than the " + number(model.max_position) +
              " positions of " + model.name,
          "lower it");
    }
    const Tokens budget = engine.config.max_num_batched_tokens;
    if (engine.max_model_len && !engine.config.chunked_prefill && budget < *engine.max_model_len) {
      add("CFG202", "spec.engine.max_num_batched_tokens",
          number(budget.value) + " is less than max_model_len " + number(engine.max_model_len->value) +
              ", and without chunked_prefill a prompt must fit into one step",
          "raise it, lower max_model_len, or set chunked_prefill: true");
    }
  }

  void plan_kv_groups() {
    const EngineSpec& engine = spec_.engine;
    const bool streams = engine.streaming.window.value > 0;
    const std::string path = streams ? "spec.engine.streaming" : "spec.engine.sliding_window";
    if (streams && scenario_.model.sliding_window)
      return add("CFG202", path, "layers of " + scenario_.model.name + " have a window of their own",
                 "leave it out");
    if (streams && engine.sliding_window == SlidingWindow::kKeepAll)
      return add("CFG202", path, "sliding_window: keep_all keeps what a window gives back",
                 "leave out one of both");
    if (!streams && engine.streaming.sink.value > 0)
      return add("CFG202", "spec.engine.streaming", "sinks need a window to be kept besides",
                 "give streaming.window, or sink: 0");
    if (streams) scenario_.model.sliding_window = engine.streaming.window.value;
    scenario_.kv_groups = whole_groups(scenario_.model);
    KvGroups windowed = windowed_groups(scenario_.model, *engine.max_model_len);
    const bool asked = streams || engine.sliding_window == SlidingWindow::kModel;
    const std::string reason = why_all_kept(engine);
    if (asked && !windowed.retention.empty() && !reason.empty())
      return add("CFG202", path, reason,
                 streams ? "leave it out, or use the rules of preset vllm-v1"
                         : "write keep_all, or use the rules of preset vllm-v1");
    const bool usual = !engine.sliding_window && reason.empty() && preset_gives_back(engine.preset);
    if (!asked && !usual) return;
    for (KvRetention& group : windowed.retention) group.sink = engine.streaming.sink;
    scenario_.kv_groups = std::move(windowed);
  }

  // Where layers give back what they do not see, length and pool are no longer in proportion.
  void check_length_in_blocks() {
    const EngineConfig config = engine_config(scenario_);
    const Blocks needed = KvWindows::most(config, blocks_for(config.max_model_len, config.block_size));
    if (needed < config.num_blocks) return;
    add("CFG202", "spec.engine.max_model_len",
        "a request of " + number(config.max_model_len.value) + " tokens takes " + number(needed.value) +
            " KV blocks, and there are " + number(config.num_blocks.value - 1),
        "lower it, or raise memory_fraction");
  }

  void plan_memory() {
    if (!spec_.engine.memory_fraction) return;
    collect("spec.engine.memory_fraction", [&] {
      scenario_.memory = kv_memory(memory_request(scenario_));
      if (!scenario_.kv_groups.retention.empty()) return check_length_in_blocks();
      if (auto problem = length_problem(*scenario_.memory, scenario_.max_model_len())) {
        throw ConfigError(std::move(*problem));
      }
    });
  }

  Scenario& scenario_;
  ScenarioSpec& spec_;
  ConfigNode& root_;
  std::vector<Problem>& problems_;
};

// Sets in `target` what differs between the two trees and is not there.
void add_differences(ConfigNode& target, const ConfigNode& preset, const ConfigNode& defaults) {
  for (const auto& [name, value] : preset.entries) {
    const ConfigNode* plain = defaults.find(name);
    if (plain == nullptr || (plain->text == value.text && !value.is_map() && !value.is_list())) continue;
    ConfigNode& node = make_path(target, name);
    if (value.is_map()) {
      add_differences(node, value, *plain);
    } else if (node.is_null()) {
      const std::string path = node.path;
      node = value;
      node.path = path;
      node.origin = kOriginPreset;
    }
  }
}

}  // namespace

void add_preset(ConfigNode& root) {
  const ConfigNode* name = find_path(root, "spec.engine.preset");
  const EngineSpec defaults;
  const auto* entry = Registry<Preset>::instance().find(name == nullptr ? defaults.preset : name->text);
  const ConfigNode* spec = find_path(root, "spec");
  if (entry == nullptr || spec == nullptr || !spec->is_map()) return;
  const ConfigNode* engine = spec->find("engine");
  if (engine != nullptr && !engine->is_map() && !engine->is_null()) return;
  const auto preset = entry->make(ConfigNode{}, {});
  EngineSpec settings;
  settings.config = preset->engine();
  settings.in_flight = InFlightSpec{settings.config.in_flight};
  settings.rules = preset->rules();
  add_differences(make_path(root, "spec.engine"), write_params(settings), write_params(defaults));
}

void complete_scenario(Scenario& scenario, ConfigNode& root, std::vector<Problem>& problems) {
  Validator(scenario, root, problems).run();
}

}  // namespace servetwin
