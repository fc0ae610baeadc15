// Sizes and places of what runs one replica's steps.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/dtype.h"
#include "engine/base/units.h"
#include "engine/live/step_batch.h"
#include "engine/models/kv_layout.h"
#include "engine/models/tensor_parallel.h"

namespace servetwin {

struct RunnerOptions {
  Tokens block_size{16};
  Blocks num_blocks{};
  Tokens max_model_len{};
  int threads = 1;  // of each rank
  DType kv_dtype = DType::kF32;
  Blocks host_blocks{};     // for those swapped out
  std::vector<int> cpus{};  // a core for each thread, by rank, that of run() first; empty: nothing is pinned
  bool kv_cache = true;     // false: every step computes whole sequences, to show what the cache saves
  KvLayout kv_layout{};     // which layers share block tables; no groups: all of them
  // What follows is for several ranks.
  SplitLayout layout{};
  std::string name = "replica";                          // in messages
  std::chrono::milliseconds deadline{60'000};            // longest wait of one rank for another
  std::function<void(int rank, StepId step)> on_step{};  // each rank calls it before it computes; may throw
};

}  // namespace servetwin
