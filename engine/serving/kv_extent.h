// Ranges of KV blocks by who allocated them, and how to follow them block by block.
#pragma once

#include <cstdint>

#include "engine/base/ids.h"

namespace servetwin {

// Whoever allocated blocks; it names them after it has gone, until they are evicted. A slot number, reused.
using OwnerSlot = std::uint32_t;
inline constexpr OwnerSlot kNoOwner = 0xffffffffU;

// Blocks [first, end) of an owner. A block's index is its place in its sequence, the same for everyone who
// shares it.
struct KvExtent {
  OwnerSlot owner = kNoOwner;
  std::int32_t first = 0;
  std::int32_t end = 0;
  std::int64_t size() const { return end - first; }
};

// Blocks taken from the head of the free queue: `count` of the named owner, from index `top` downwards. What
// they held is evicted by this. Physical block ids follow from a run's sequence of these, so digests hold
// these instead.
struct TakenExtent {
  RequestId request = kNoRequest;  // kNoRequest: never used before
  std::uint32_t life = 0;          // which admission of that request
  std::int32_t top = 0;
  std::int32_t count = 0;
};

// Blocks [first, end) that `request` allocated and that share one fate, for those who look at the whole pool.
struct KvRange {
  RequestId request = kNoRequest;  // kNoRequest: never used
  std::int32_t first = 0;
  std::int32_t end = 0;
  std::int32_t refs = 0;  // sequences that hold them; 0: free
  bool cached = false;    // findable by their content
  std::int64_t size() const { return end - first; }
};

// Follows each block for those that need ids or lifetimes (block tables, tests). Only the plain loop names
// owners of growth, so listeners are for plain loops.
class KvListener {
 public:
  virtual ~KvListener() = default;
  virtual void on_allocate(OwnerSlot owner, std::int32_t first, std::int32_t count) = 0;  // ascending
  virtual void on_touch(OwnerSlot owner,
                        std::int32_t first,
                        std::int32_t count) = 0;  // ascending, left the queue
  virtual void on_free(OwnerSlot owner,
                       std::int32_t first,
                       std::int32_t count) = 0;  // descending, joined its tail
};

}  // namespace servetwin
