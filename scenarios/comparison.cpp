// Makes variants from a comparison file or from the command line, and reads every one of them once.
#include "scenarios/comparison.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "engine/base/unit_text.h"
#include "scenarios/assemble.h"
#include "scenarios/comparison_spec.h"
#include "scenarios/config_tree.h"
#include "scenarios/input_text.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

[[noreturn]] void refuse(const char* code, const ConfigNode& node, std::string message, std::string remedy) {
  throw ConfigError(Problem{code, node.place, node.path, std::move(message), std::move(remedy)});
}

// A value of the command line as a node whose place is the option.
ConfigNode option_node(const std::string& option, const std::string& value) {
  ConfigNode node = load_yaml_text(value, option + ' ' + value);
  node.path = "spec." + option.substr(2);
  return node;
}

std::vector<std::int64_t> read_seeds(const ConfigNode& node, std::int64_t first) {
  const auto number = [](const ConfigNode& one, std::int64_t low, std::int64_t high) {
    const auto value = one.is_scalar() && !one.quoted ? parse_integer(one.text) : Parsed<std::int64_t>{};
    if (!value || *value.value < low || *value.value > high) {
      refuse(kCodeBadValue, one, "is no " + std::string(low == 0 ? "seed" : "number of seeds"),
             "write how many, 1 to 1000, or a list of different seeds, each 0 or more");
    }
    return *value.value;
  };
  std::vector<std::int64_t> seeds;
  if (!node.is_list()) {
    const std::int64_t count = number(node, 1, kMostSeeds);
    if (first > std::numeric_limits<std::int64_t>::max() - count) {
      refuse(kCodeBadValue, node, "seeds counted from " + std::to_string(first) + " pass the largest",
             "give a list of seeds, or a smaller seed");
    }
    for (std::int64_t i = 0; i < count; ++i) seeds.push_back(first + i);
    return seeds;
  }
  for (const ConfigNode& item : node.items) {
    const std::int64_t seed = number(item, 0, std::numeric_limits<std::int64_t>::max());
    if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
      refuse(kCodeInconsistent, item, "stands twice: the same run would count twice", "give other seeds");
    }
    seeds.push_back(seed);
  }
  if (seeds.empty() || seeds.size() > static_cast<std::size_t>(kMostSeeds)) {
    refuse(kCodeBadValue, node, "holds no seeds, or more than 1000", "write a number or a list of seeds");
  }
  return seeds;
}

void lay_map(ConfigNode& root, const ConfigNode& set) {
  if (set.is_null()) return;
  if (!set.is_map()) {
    refuse(kCodeWrongType, set, "is no map of key paths", "write `set: {engine.max_num_seqs: 64}`");
  }
  for (const auto& [key, value] : set.entries) lay_value(root, path_from_root(key), value);
}

// Every variant runs with each of the seeds, so one of its own would be overwritten.
void refuse_seed(const std::string& key, const ConfigNode& node) {
  if (path_from_root(key) != "spec.seed") return;
  refuse(kCodeInconsistent, node, "all variants run with the same seeds",
         "give seeds: [1, 2], or --seeds 1,2");
}

// The file's name alone where no other word has the same.
std::string short_name(const std::vector<std::string>& words, std::size_t index) {
  const auto stem = [](const std::string& word) { return std::filesystem::path(word).stem().string(); };
  const auto same = [&](const std::string& word) { return stem(word) == stem(words[index]); };
  return std::count_if(words.begin(), words.end(), same) == 1 ? stem(words[index]) : words[index];
}

void add_judged(std::vector<std::size_t>& judged, const ConfigNode& node, const std::string& name) {
  std::vector<std::string> names;
  for (const MeasureInfo& m : measures()) {
    if (m.better != Better::kNeither) names.push_back(m.name);
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw ConfigError(unknown_name_problem(node, name, names));
  }
  const std::size_t measure = *find_measure(name);
  if (std::find(judged.begin(), judged.end(), measure) != judged.end())
    refuse(kCodeInconsistent, node, name + " stands twice", "name each measure once");
  judged.push_back(measure);
}

class Planner {
 public:
  // `single`: one scenario on the command line, whose name says nothing in that of a variant.
  explicit Planner(const ComparisonOverrides& overrides, bool single = false)
      : overrides_(overrides), single_(single) {}

  ComparisonPlan from_file(const ConfigNode& root, const std::string& file) {
    const auto document = read_params<ComparisonDocument>(root);
    const ComparisonSpec& spec = document.spec;
    file_ = file;
    plan_.name = document.metadata.name;
    plan_.options.confidence = spec.confidence;
    plan_.options.tolerance = spec.tolerance;
    read_judged(spec, *root.find("spec"));
    const ConfigNode& variants = *root.find("spec")->find("variants");
    for (std::size_t i = 0; i < spec.variants.size(); ++i) add_variant(document, i, variants.items[i]);
    const ConfigNode* baseline = root.find("spec")->find("baseline");
    return finish(spec.seeds, spec.baseline.value_or(""), baseline != nullptr ? *baseline : variants);
  }

  ComparisonPlan from_words(const std::vector<std::string>& words, const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string file = find_scenario(words[i]);
      ComparedScenario variant{short_name(words, i), load_extended(texts[i], file), file};
      plan_.name += (plan_.name.empty() ? "" : "-") + variant.name;
      set_base(variant);
      add(std::move(variant), ConfigNode{});
    }
    return finish(ConfigNode{}, "", ConfigNode{});
  }

 private:
  void set_base(ComparedScenario& variant) const {
    for (const std::string& one : overrides_.set) {
      apply_override(variant.root, one, path_from_root(one) == one ? "" : "spec.");
    }
  }

  void read_judged(const ComparisonSpec& spec, const ConfigNode& node) {
    for (std::size_t i = 0; i < spec.judge.size(); ++i) {
      add_judged(plan_.options.judged, node.find("judge")->items[i], spec.judge[i]);
    }
  }

  void add_variant(const ComparisonDocument& document, std::size_t index, const ConfigNode& node) {
    const VariantSpec& one = document.spec.variants[index];
    ComparedScenario variant;
    variant.name = one.name;
    const ConfigNode* scenario = node.find("scenario");
    load(document, one.scenario ? *scenario : document.spec.base, node, variant);
    lay_map(variant.root, document.spec.set);
    set_base(variant);
    if (one.preset) lay_value(variant.root, "spec.engine.preset", *node.find("preset"));
    for (const auto& entry : one.set.entries) refuse_seed(entry.first, *node.find("set"));
    lay_map(variant.root, one.set);
    add(std::move(variant), *node.find("name"));
  }

  void load(const ComparisonDocument& document,
            const ConfigNode& base,
            const ConfigNode& node,
            ComparedScenario& variant) const {
    if (base.is_null()) {
      refuse(kCodeMissing, node, "has no scenario, and spec.base is not there", "give spec.base");
    }
    if (base.is_scalar()) {
      try {
        variant.file = find_scenario_beside(file_, base.text);
      } catch (const ConfigError& error) {
        const Problem& problem = error.problems().front();
        refuse(problem.code.c_str(), base, base.text + ": " + problem.message, problem.remedy);
      }
      variant.root = load_extended(read_input(variant.file), variant.file);
      return;
    }
    variant.file = file_;
    lay_value(variant.root, "apiVersion", text_node("servetwin/v1", false, kOriginFile));
    lay_value(variant.root, "kind", text_node("Scenario", false, kOriginFile));
    lay_value(variant.root, "metadata.name", text_node(document.metadata.name, true, kOriginFile));
    lay_value(variant.root, "spec", base);
  }

  void add(ComparedScenario variant, const ConfigNode& name) {
    std::vector<ComparedScenario> made = {std::move(variant)};
    for (const std::string& vary : overrides_.vary) made = varied(made, vary);
    for (ComparedScenario& one : made) {
      const auto same = [&](const ComparedScenario& other) { return other.name == one.name; };
      const auto breaks = [](char c) { return static_cast<unsigned char>(c) < ' '; };
      if (one.name.empty() || std::any_of(one.name.begin(), one.name.end(), breaks))
        refuse(kCodeBadValue, name, "is empty, or no single line", "give the variant a short name");
      if (std::any_of(plan_.variants.begin(), plan_.variants.end(), same)) {
        refuse(kCodeInconsistent, name, "two variants are called " + one.name, "give each a name of its own");
      }
      plan_.variants.push_back(std::move(one));
    }
    if (plan_.variants.size() > kMostVariants) {
      refuse(kCodeOutOfRange, name, "more than 64 variants", "compare fewer at a time");
    }
  }

  // Each of them with each of the values; names tell the values, and the scenario where there are several.
  std::vector<ComparedScenario> varied(const std::vector<ComparedScenario>& from,
                                       const std::string& vary) const {
    const std::size_t equals = std::min(vary.find('='), vary.size());
    const std::string key = vary.substr(0, equals);
    const std::string option = "--vary " + vary;
    ConfigNode values;
    if (equals + 1 < vary.size()) values = load_yaml_text('[' + vary.substr(equals + 1) + ']', option);
    if (key.empty() || values.items.size() < 1) {
      throw ConfigError(Problem{"CFG018", SourcePlace{option, 0, 0}, "", "names no key with values",
                                "write --vary engine.max_num_seqs=64,128"});
    }
    ConfigNode place;
    place.place.file = option;
    refuse_seed(key, place);
    const auto same = [&](const std::string& other) { return other.substr(0, other.find('=')) == key; };
    if (std::count_if(overrides_.vary.begin(), overrides_.vary.end(), same) > 1)
      refuse(kCodeInconsistent, place, key + " is varied twice", "give all its values at once");
    std::vector<ComparedScenario> made;
    for (const ComparedScenario& one : from) {
      for (ConfigNode value : values.items) {
        value.origin = kOriginCommandLine;
        value.place = SourcePlace{option, 0, 0};
        ComparedScenario variant = one;
        lay_value(variant.root, path_from_root(key), value);
        std::string text = write_yaml(value);
        text.pop_back();
        std::replace(text.begin(), text.end(), '\n', ' ');
        const bool is_first = overrides_.vary.front() == vary;
        variant.name = (is_first ? name_before(one.name) : one.name + ' ') + key + '=' + text;
        made.push_back(std::move(variant));
      }
    }
    return made;
  }

  std::string name_before(const std::string& name) const { return single_ ? "" : name + ' '; }

  ComparisonPlan finish(const ConfigNode& seeds, const std::string& baseline, const ConfigNode& place) {
    if (plan_.variants.size() < 2) {
      refuse(kCodeInconsistent, place, "there is nothing to compare: one variant",
             "give two scenarios, a comparison file, or --vary key.path=value,value");
    }
    const std::string& wanted = overrides_.baseline.empty() ? baseline : overrides_.baseline;
    std::vector<std::string> names;
    for (const ComparedScenario& one : plan_.variants) names.push_back(one.name);
    const auto found = wanted.empty() ? names.begin() : std::find(names.begin(), names.end(), wanted);
    if (found == names.end()) {
      const ConfigNode option = overrides_.baseline.empty() ? place : option_node("--baseline", wanted);
      throw ConfigError(unknown_name_problem(option, wanted, names));
    }
    plan_.baseline = static_cast<std::size_t>(found - names.begin());
    read_scenarios(seeds);
    return std::move(plan_);
  }

  // Every variant is put together now, so that nothing wrong is found only after hours of simulation.
  void read_scenarios(const ConfigNode& seeds) {
    const auto resolve = [](const ComparedScenario& one) {
      try {
        Scenario scenario = resolve_scenario(one.root, one.file);
        assemble(scenario);
        return scenario;
      } catch (const ConfigError& error) {
        std::vector<Problem> problems = error.problems();
        for (Problem& problem : problems) problem.message = "variant " + one.name + ": " + problem.message;
        throw ConfigError(std::move(problems));
      }
    };
    bool has_slo = true;
    std::int64_t first_seed = 0;
    std::vector<std::pair<Blocks, Tokens>> pools;
    for (std::size_t v = 0; v < plan_.variants.size(); ++v) {
      const Scenario scenario = resolve(plan_.variants[v]);
      has_slo = has_slo && gives_slo(scenario);
      if (v == plan_.baseline) first_seed = scenario.spec().seed;
      if (!scenario.memory)
        pools.emplace_back(scenario.num_blocks(), scenario.spec().engine.config.block_size);
    }
    note_pools(pools);
    if (!overrides_.judge.empty()) plan_.options.judged = judged_measures(overrides_.judge);
    if (plan_.options.judged.empty()) plan_.options.judged = usual_measures(has_slo);
    const std::string& text = overrides_.seeds;
    const bool is_list = text.find(',') != std::string::npos;
    if (!text.empty()) {
      plan_.seeds = read_seeds(option_node("--seeds", is_list ? '[' + text + ']' : text), first_seed);
    } else {
      plan_.seeds = read_seeds(seeds.is_null() ? usual_seeds() : seeds, first_seed);
    }
  }

  // As many blocks of another size are another memory: engines differ in what a block is.
  void note_pools(const std::vector<std::pair<Blocks, Tokens>>& pools) {
    for (const auto& [blocks, size] : pools) {
      if (blocks != pools.front().first || size == pools.front().second) continue;
      plan_.notes.push_back(
          "num_blocks is the same and block_size is not, so variants differ in KV memory; "
          "memory_fraction would give them the same");
      return;
    }
  }

  // One more than the fewest, so that not every seed has to agree.
  ConfigNode usual_seeds() const {
    constexpr int kUsual = 10;
    const int enough = 1 + fewest_seeds(plan_.options.confidence, plan_.claims());
    return text_node(std::to_string(std::max(kUsual, enough)), false, kOriginDefault);
  }

  static bool gives_slo(const Scenario& scenario) {
    const auto gives = [](const SloSpec& slo) { return slo.ttft || slo.tpot || slo.itl || slo.e2e; };
    const auto& classes = scenario.workload.classes;
    return gives(scenario.spec().slo) ||
           std::any_of(classes.begin(), classes.end(),
                       [&](const ClassSpec& one) { return one.slo && gives(*one.slo); });
  }

  const ComparisonOverrides& overrides_;
  ComparisonPlan plan_;
  std::string file_;
  bool single_;
};

bool says_comparison(const ConfigNode& root) {
  const ConfigNode* kind = root.is_map() ? root.find("kind") : nullptr;
  return kind != nullptr && kind->is_scalar() && kind->text == kComparisonKind;
}

}  // namespace

Scenario ComparedScenario::with_seed(std::int64_t seed) const {
  return resolve_scenario(root, file, {{"seed=" + std::to_string(seed)}, {}});
}

std::vector<std::size_t> judged_measures(const std::string& names) {
  std::vector<std::size_t> judged;
  if (names.empty()) return judged;
  for (const ConfigNode& item : option_node("--judge", '[' + names + ']').items) {
    add_judged(judged, item, item.text);
  }
  return judged;
}

std::vector<std::size_t> usual_measures(bool has_slo) {
  std::vector<std::size_t> judged;
  if (has_slo) judged.push_back(*find_measure("good_share"));
  for (const char* name : {"e2e.mean", "ttft.p99", "itl.p99"}) judged.push_back(*find_measure(name));
  return judged;
}

ComparisonPlan parse_comparison(const std::string& text,
                                const std::string& file,
                                const ComparisonOverrides& overrides) {
  return Planner(overrides).from_file(load_yaml_text(text, file), file);
}

bool is_comparison(const std::string& name_or_path) {
  if (name_or_path == "-") return false;
  try {
    return says_comparison(load_yaml_file(find_scenario(name_or_path)));
  } catch (const ConfigError&) {
    return false;
  }
}

ComparisonPlan plan_comparison(const std::vector<std::string>& words, const ComparisonOverrides& overrides) {
  std::vector<std::string> texts;
  for (const std::string& word : words) texts.push_back(read_input(find_scenario(word)));
  if (words.size() == 1) {
    const std::string file = find_scenario(words.front());
    const ConfigNode root = load_yaml_text(texts.front(), file == "-" ? "standard input" : file);
    if (says_comparison(root)) return Planner(overrides).from_file(root, file);
  }
  return Planner(overrides, words.size() == 1).from_words(words, texts);
}

}  // namespace servetwin
