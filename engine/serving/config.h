// Settings of one replica's scheduler and KV cache, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "engine/base/units.h"

namespace servetwin {

// How many steps may be planned before the first comes back, and whether a request may be planned again
// before its output is known (asynchronous scheduling). Presets: sync 1/off, async 2/on, pipeline S/off.
struct InFlight {
  int depth = 1;
  bool speculate_outputs = false;
};

// What a group of layers keeps of a sequence's KV.
struct KvRetention {
  Tokens window{0};  // tokens that a query sees, its own with them; 0: all, and all are kept
  Tokens sink{0};    // first tokens of the sequence, kept behind any window
};

struct EngineConfig {
  Tokens max_num_batched_tokens{2048};  // token budget of a step
  std::int64_t max_num_seqs = 256;      // running requests at most
  Tokens max_model_len{};               // prompt and outputs together; required
  Tokens block_size{16};
  Blocks num_blocks{};    // the pool, with the null block (vLLM's num_gpu_blocks); required
  Blocks host_blocks{0};  // KV blocks in host memory, for those swapped out
  // Groups of layers with block tables of their own in the one pool; empty: one that keeps all.
  std::vector<KvRetention> kv_groups;
  // What a query of a layer with a window sees, where its sums are asked for (StepShape); 0: nobody asks.
  Tokens priced_window{0};
  bool prefix_caching = true;
  bool chunked_prefill = true;
  Tokens long_prefill_token_threshold{0};  // longest chunk of one request, 0: no limit
  double watermark = 0.0;                  // share of the pool kept free while something else runs
  bool full_sequence_gate = true;          // admit only if the whole current sequence could be held now
  InFlight in_flight;
  Duration batching_delay{0};             // from becoming plannable to the plan
  std::int64_t max_queued = 0;            // waiting requests at most, 0: no bound
  std::vector<std::int64_t> graph_sizes;  // captured batch sizes, ascending; empty: no graphs
  bool plain_loop = false;                // never use the shortcut (the oracle)
  std::uint64_t hash_seed = 0;            // of the prefix-cache keys
};

}  // namespace servetwin
