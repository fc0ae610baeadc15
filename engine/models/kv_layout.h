// Which layers share a block table: what a block of the KV pool is, where layers differ in what they keep.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/models/spec.h"

namespace servetwin {

// Layers that see alike, in order.
struct KvLayerGroup {
  std::int64_t window = 0;  // tokens a query sees, its own with them; 0: all before it
  std::vector<std::int64_t> layers;
};

// A block holds its tokens' keys and values in so many layers of one group; where a group has fewer, the rest
// stays empty.
struct KvLayout {
  std::vector<KvLayerGroup> groups;
  std::int64_t layers_per_block = 0;

  std::int64_t tables() const { return static_cast<std::int64_t>(groups.size()); }
  bool has_windows() const;
};

// One table, whatever the layers see: each keeps everything.
KvLayout whole_kv_layout(const ModelSpec& model);

// Groups of equal size, as vLLM makes them: as large as there are layers of the rarer kind, or as all of the
// commoner kind where those are fewer than half as many again; every nth layer of a kind into each group.
KvLayout windowed_kv_layout(const ModelSpec& model);

}  // namespace servetwin
