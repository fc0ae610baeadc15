// One rank of a replica: its part of the model, the cache of its heads, and what it keeps on the host.
#pragma once

#include <memory>
#include <vector>

#include "engine/live/collective_volume.h"
#include "engine/live/host_tier.h"
#include "engine/live/kv_pool.h"
#include "engine/live/runner_options.h"
#include "engine/live/transformer_model.h"

namespace servetwin {

// Block ids are the same on all ranks: what the core decides of a block, each rank does with its heads' part.
class RankModel {
 public:
  // `spec` is the whole model's, `part` this rank's weights, which must outlive it. Without a group it is the
  // only rank.
  RankModel(const ModelSpec& spec,
            const ModelWeights& part,
            const RunnerOptions& options,
            RankPlace place,
            std::unique_ptr<Communicator> group);

  int rank() const { return place_.rank; }
  Communicator* group() { return group_.get(); }
  // The calling thread will compute for this rank.
  void take_place() const;

  // As TransformerModel's. Told of first: on_step of the options.
  const float* forward(const StepBatch& batch, const std::vector<TokenId>& tokens);
  void swap_out(const std::vector<BlockCopy>& copies);
  void swap_in(const BlockCopy& blocks) { host_.take(blocks, cache_); }
  // Its copy on the host is worth nothing any more.
  void drop(RequestId request) { host_.drop(request); }
  // Block `to` becomes what block `from` is.
  void copy_block(std::int32_t from, std::int32_t to);

  std::int64_t slots() const { return cache_.slots(); }
  std::int64_t block_size() const { return cache_.block_size(); }
  Bytes cache_bytes() const { return cache_.bytes(); }
  std::int64_t flops() const { return model_.flops(); }
  CollectiveVolume sent() const { return counted_volume(group_.get()); }

 private:
  RankPlace place_;
  std::vector<int> cpus_;  // of its threads
  std::function<void(int rank, StepId step)> on_step_;
  std::unique_ptr<Communicator> group_;
  TransformerModel model_;
  KvPool cache_;
  HostTier host_;
};

}  // namespace servetwin
