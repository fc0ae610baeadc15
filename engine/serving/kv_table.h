// The block table of an open owner, entry by entry, for those that need its blocks in order.
#pragma once

#include <cstdint>

#include "engine/serving/kv_group.h"

namespace servetwin {

// call(owner, index) for each of the first `end` entries: the block is that owner's block `index`. Where the
// sequence does without one, the owner is kNoOwner and the entry null.
template <class Call>
void for_entries(const KvGroup& kv, OwnerSlot owner, std::int32_t end, const Call& call) {
  const KvExtent gap = kv.gap(owner);
  auto hit = kv.hits(owner).begin();
  const auto no_hit = kv.hits(owner).end();
  for (std::int32_t index = 0; index < end; ++index) {
    while (hit != no_hit && hit->end <= index) ++hit;
    if (gap.first <= index && index < gap.end) {
      call(kNoOwner, index);
    } else {
      call(hit != no_hit && hit->first <= index ? hit->owner : owner, index);
    }
  }
}

}  // namespace servetwin
