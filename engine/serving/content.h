// Prompt content as runs of full blocks: the identity by which KV blocks are shared.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/units.h"
#include "engine/serving/request.h"

namespace servetwin {

// Names a run of consecutive full blocks together with everything before it (a chained hash): equal keys mean
// equal tokens from the start of the prompt, for the same model, adapter and cache salt.
struct RunKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const RunKey&, const RunKey&) = default;
};

constexpr std::uint64_t hash_of(const RunKey& key) { return key.high ^ (key.low * 0x9e3779b97f4a7c15ULL); }

// Blocks [first, end) of a request. Two requests whose runs have one key agree on as many of its blocks,
// counted from `first`, as both have. The last run of a request is open: generated text continues it.
struct ContentRun {
  RunKey key;
  std::int32_t first = 0;
  std::int32_t end = 0;
};

inline constexpr std::int32_t kOpenEnd = 0x7fffffff;

// The runs of a request, in order, covering every block it can ever fill. `hash_seed` is the cache's own.
// Reuses the storage of `runs`.
void content_runs(const RequestSpec& request,
                  Tokens block_size,
                  std::uint64_t hash_seed,
                  std::vector<ContentRun>& runs);

// The key of one block, for a cache that is looked up block by block (the live one, tests).
RunKey block_key(const std::vector<ContentRun>& runs, std::int64_t block);

}  // namespace servetwin
