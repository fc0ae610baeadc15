// Layers are sorted by what they see, in order of their first; then each kind is dealt out.
#include "engine/models/kv_layout.h"

#include <algorithm>
#include <cstddef>

namespace servetwin {
namespace {

std::vector<KvLayerGroup> kinds_of(const ModelSpec& model) {
  std::vector<KvLayerGroup> kinds;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::int64_t window = layer_spec(model, layer).window;
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const KvLayerGroup& one) { return one.window == window; });
    if (kind == kinds.end()) kind = kinds.insert(kind, KvLayerGroup{window, {}});
    kind->layers.push_back(layer);
  }
  return kinds;
}

std::int64_t group_size(const std::vector<KvLayerGroup>& kinds) {
  const auto [rarest, commonest] = std::minmax_element(
      kinds.begin(), kinds.end(),
      [](const KvLayerGroup& a, const KvLayerGroup& b) { return a.layers.size() < b.layers.size(); });
  const auto fewest = static_cast<std::int64_t>(rarest->layers.size());
  const auto most = static_cast<std::int64_t>(commonest->layers.size());
  return 2 * most < 3 * fewest ? most : fewest;
}

}  // namespace

bool KvLayout::has_windows() const {
  return std::any_of(groups.begin(), groups.end(), [](const KvLayerGroup& one) { return one.window > 0; });
}

KvLayout whole_kv_layout(const ModelSpec& model) {
  KvLayout layout{{{0, {}}}, model.layers};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) layout.groups.front().layers.push_back(layer);
  return layout;
}

KvLayout windowed_kv_layout(const ModelSpec& model) {
  const std::vector<KvLayerGroup> kinds = kinds_of(model);
  KvLayout layout;
  layout.layers_per_block = group_size(kinds);
  for (const KvLayerGroup& kind : kinds) {
    const auto count = static_cast<std::int64_t>(kind.layers.size());
    const auto groups = static_cast<std::size_t>(ceil_div(count, layout.layers_per_block));
    for (std::size_t first = 0; first < groups; ++first) {
      KvLayerGroup group{kind.window, {}};
      for (std::size_t at = first; at < kind.layers.size(); at += groups)
        group.layers.push_back(kind.layers[at]);
      layout.groups.push_back(group);
    }
  }
  return layout;
}

}  // namespace servetwin
