// Checks a scenario as a whole and lists everything that is wrong, each with its key path and place.
#include "scenarios/validate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "scenarios/config_tree.h"

namespace servetwin {
namespace {

class Validator {
 public:
  Validator(const ConfigNode& root, std::vector<Problem>& problems) : root_(root), problems_(problems) {}

  // Adds the problem unless the key is in trouble already: what follows from it would be noise.
  void add(const char* code, const std::string& path, std::string message, std::string remedy) {
    if (!is_sound(path)) return;
    problems_.push_back({code, place_of(path), path, std::move(message), std::move(remedy)});
  }

  bool is_sound(const std::string& path) const {
    return std::none_of(problems_.begin(), problems_.end(), [&](const Problem& p) { return p.path == path; });
  }

 private:
  // Of the key, or of the nearest map above it that the file has.
  SourcePlace place_of(std::string path) const {
    for (;;) {
      if (const ConfigNode* node = find_path(root_, path)) return node->place;
      const std::size_t dot = path.rfind('.');
      if (dot == std::string::npos) return root_.place;
      path.resize(dot);
    }
  }

  const ConfigNode& root_;
  std::vector<Problem>& problems_;
};

void check_capacity(const EngineSpec& engine, Validator& check) {
  if (engine.num_blocks && engine.memory_fraction) {
    check.add("CFG201", "spec.engine.memory_fraction", "num_blocks and memory_fraction are both given",
              "keep one of them; null takes one of an extended file away");
  } else if (!engine.num_blocks && !engine.memory_fraction && check.is_sound("spec.engine.num_blocks") &&
             check.is_sound("spec.engine.memory_fraction")) {
    check.add("CFG201", "spec.engine", "the KV capacity must be given",
              "write `memory_fraction: 0.9`, or `num_blocks: N` where it is known");
  }
}

void check_engine(const EngineSpec& engine, Validator& check) {
  const EngineConfig& config = engine.config;
  if (!config.chunked_prefill && engine.max_model_len && config.max_num_batched_tokens < *engine.max_model_len) {
    check.add("CFG202", "spec.engine.max_num_batched_tokens",
              std::to_string(config.max_num_batched_tokens.value) + " is less than max_model_len " +
                  std::to_string(engine.max_model_len->value) + ", and without chunked_prefill a prompt must fit a step",
              "raise it, or set chunked_prefill: true");
  }
  if (!std::is_sorted(config.graph_sizes.begin(), config.graph_sizes.end())) {
    check.add("CFG202", "spec.engine.graph_sizes", "not in ascending order", "sort them");
  }
}

}  // namespace

void complete_scenario(ScenarioDocument& document, ConfigNode& root, std::vector<Problem>& problems) {
  Validator check(root, problems);
  ScenarioSpec& spec = document.spec;
  check_capacity(spec.engine, check);
  check_engine(spec.engine, check);
}

}  // namespace servetwin
