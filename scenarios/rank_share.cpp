// The shapes are those that a live rank computes.
#include "scenarios/rank_share.h"

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/models/kv_format.h"

namespace servetwin {

std::string rank_share_text(const ModelSpec& model, const SharedModel& how, Bytes weights, Bytes kv_cache) {
  const int ranks = how.ranks;
  if (ranks == 1 || !why_not_split(model, ranks, how.layout).empty()) return "";
  const ModelSpec part = rank_spec(model, {0, ranks}, how.layout);
  std::string text = fmt::format("each of {} ranks: {} of {} heads, ", ranks, part.heads, model.heads);
  text +=
      model.is_mla() ? "the whole latent" : fmt::format("{} of {} KV heads", part.kv_heads, model.kv_heads);
  if (!model.is_moe() || model.moe.first_dense_layers > 0)
    text += fmt::format(", {} of {} feed-forward columns", part.intermediate, model.intermediate);
  if (how.layout.expert_parallel) {
    text +=
        fmt::format(", {} of {} experts", largest_share(model.moe.num_experts, ranks), model.moe.num_experts);
  } else if (model.is_moe())
    text += fmt::format(", {} of {} columns of every expert", part.moe.intermediate, model.moe.intermediate);
  return text + fmt::format(", {} of {} tokens of the vocabulary; weights {}, KV cache {}\n",
                            format_grouped(largest_share(model.vocab, ranks)), format_grouped(model.vocab),
                            format_bytes(weights), format_bytes(kv_cache));
}

std::string rank_share_text(const Scenario& scenario) {
  const EngineSpec& engine = scenario.spec().engine;
  const int ranks = static_cast<int>(scenario.spec().layout.tp);
  const Bytes token =
      kv_token_bytes(scenario.model, engine.kv_format(), ranks, scenario.kv_groups.layout.layers_per_block);
  const DType dtype = engine.dtype.value_or(scenario.model.dtype);
  return rank_share_text(scenario.model, {ranks, {}}, weight_bytes(scenario.model, dtype, ranks),
                         token * (engine.config.block_size.value * scenario.num_blocks().value));
}

}  // namespace servetwin
