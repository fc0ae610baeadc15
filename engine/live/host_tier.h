// KV blocks outside the pool, of requests that were swapped out. On a CPU both are parts of one memory: the
// copies are real, the link between them is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/live/kv_pool.h"
#include "engine/live/step_batch.h"

namespace servetwin {

class HostTier {
 public:
  explicit HostTier(Blocks capacity) : free_(capacity) {}

  // Keeps what the pool's blocks hold. A request has one copy at most; the core sees to it that it fits.
  void put(const BlockCopy& blocks, KvPool& pool);
  // Writes the copy's blocks from `blocks.first` on into the pool's, and forgets the copy.
  void take(const BlockCopy& blocks, KvPool& pool);
  // It ended, or its copy is worth nothing any more.
  void drop(RequestId request);
  Blocks free() const { return free_; }

 private:
  Blocks free_;
  std::map<RequestId, std::vector<std::byte>> copies_;  // block by block, from the first of the sequence
  std::size_t block_bytes_ = 0;
};

}  // namespace servetwin
