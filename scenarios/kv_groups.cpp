// From layers to groups, and what stands against giving blocks back.
#include "scenarios/kv_groups.h"

#include "engine/base/registry.h"
#include "engine/serving/preset.h"
#include "engine/serving/rules.h"

namespace servetwin {

KvGroups whole_groups(const ModelSpec& model) { return {whole_kv_layout(model), {}}; }

KvGroups windowed_groups(const ModelSpec& model, Tokens max_model_len) {
  KvGroups groups{windowed_kv_layout(model), {}};
  const bool is_one = groups.layout.groups.size() == 1;
  if (!groups.layout.has_windows() || (is_one && groups.layout.groups.front().window >= max_model_len.value))
    return whole_groups(model);
  for (const KvLayerGroup& group : groups.layout.groups)
    groups.retention.push_back({Tokens{group.window}, Tokens{0}});
  return groups;
}

std::string why_all_kept(const EngineSpec& engine) {
  if (engine.config.host_blocks.value > 0) return "requests that are swapped out keep all of their KV";
  if (engine.rules.step != "continuous") return "the steps of " + engine.rules.step + " keep all KV";
  const auto* batch = Registry<BatchRule>::instance().find(engine.rules.batch);
  if (batch == nullptr) return "";
  const auto rule = batch->make(ConfigNode{}, {});
  if (rule->composition() == Composition::kPrefillAlone || rule->whole_sequence_blocks())
    return "with the batch rule " + engine.rules.batch + " requests keep all of their KV";
  return "";
}

bool preset_gives_back(const std::string& name) {
  const auto* preset = Registry<Preset>::instance().find(name);
  return preset != nullptr && preset->make(ConfigNode{}, {})->passes_windows();
}

}  // namespace servetwin
