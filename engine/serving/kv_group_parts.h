// What a KV group is made of inside: pieces of owners' blocks, and copies of runs of content.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/serving/content.h"
#include "engine/serving/kv_extent.h"

namespace servetwin {

struct KvGroupParts {
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // A maximal range of one owner's blocks with the same fate: held by `refs` sequences, or free in the queue.
  struct Piece {
    std::int32_t first = 0;
    std::int32_t end = 0;
    std::int32_t refs = 0;
    OwnerSlot owner = kNoOwner;
    std::uint32_t prev = kNone;  // in the free queue
    std::uint32_t next = kNone;
    std::uint32_t next_piece = kNone;  // of the same owner, ascending
  };
  // A range of the owner's blocks that is findable under a node.
  struct Published {
    std::uint32_t node = kNone;
    std::int32_t first = 0;
    std::int32_t end = 0;
  };
  struct Owner {
    RequestId request = kNoRequest;
    std::uint32_t life = 0;
    std::uint32_t head = kNone;  // first piece
    std::uint32_t tail = kNone;  // last piece
    bool open = false;           // its sequence still holds and extends it
    std::int32_t next_index = 0;
    std::int32_t own_first = 0;  // behind its hits
    std::int32_t gap_first = 0;
    std::int32_t gap_end = 0;
    std::vector<KvExtent> hits;  // while open
    std::vector<Published> published;
  };
  // One copy of part of a run. Of several copies of a block the one published first is found.
  struct Copy {
    OwnerSlot owner = kNoOwner;
    std::int32_t first = 0;
    std::int32_t end = 0;
    std::uint64_t order = 0;
  };
  struct Node {
    RunKey key;
    std::vector<Copy> copies;
  };
};

}  // namespace servetwin
