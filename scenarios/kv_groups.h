// Which layers keep what of a sequence under a scenario's engine.
#pragma once

#include <string>
#include <vector>

#include "engine/models/kv_layout.h"
#include "engine/serving/config.h"
#include "scenarios/engine_spec.h"

namespace servetwin {

struct KvGroups {
  KvLayout layout;
  std::vector<KvRetention> retention;  // of its groups; empty: there is one, which keeps all
};

KvGroups whole_groups(const ModelSpec& model);

// By the windows of the model's layers, as vLLM V1 has them. Where all layers have one that no request can
// exceed, nothing is ever given back, and it is as if there were none.
KvGroups windowed_groups(const ModelSpec& model, Tokens max_model_len);

// Why the engine's requests keep all of their KV whatever the layers see; empty: they need not.
std::string why_all_kept(const EngineSpec& engine);
// Whether the preset's engine gives blocks behind windows back.
bool preset_gives_back(const std::string& name);

}  // namespace servetwin
