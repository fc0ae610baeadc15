// The prefix index of a KV group: which owner's blocks hold which content, and how lookups and evictions keep
// it true.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/serving/kv_group.h"

namespace servetwin {

std::uint32_t KvGroup::node_for(const RunKey& key) {
  if (const std::uint32_t* found = node_of_.find(key)) return *found;
  std::uint32_t index;
  if (spare_nodes_.empty()) {
    index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    index = spare_nodes_.back();
    spare_nodes_.pop_back();
  }
  nodes_[index].key = key;
  node_of_.insert(key, index);
  return index;
}

void KvGroup::publish(OwnerSlot slot, const ContentRun& run, std::int32_t first, std::int32_t end) {
  if (first >= end) return;
  std::vector<Published>& published = owners_[slot].published;
  const bool same_run = !published.empty() && nodes_[published.back().node].key == run.key;
  const std::uint32_t index = same_run ? published.back().node : node_for(run.key);
  std::vector<Copy>& copies = nodes_[index].copies;
  // Growing one's own copy keeps its place in the order as long as nobody else has these blocks already.
  Copy* mine = nullptr;
  bool alone = true;
  for (Copy& copy : copies) {
    if (copy.owner == slot && copy.end == first) mine = &copy;
    if (copy.end > first) alone = false;
  }
  if (mine != nullptr && alone) {
    mine->end = end;
  } else {
    copies.push_back({slot, first, end, publish_order_++});
  }
  if (!published.empty() && published.back().node == index && published.back().end == first) {
    published.back().end = end;
  } else {
    published.push_back({index, first, end});
  }
}

// The first index from `index` on that the earliest copy covering `index` does not give; `index` itself if
// none does.
std::int32_t KvGroup::found_until(const Node& node, std::int32_t index, OwnerSlot& owner) const {
  const Copy* best = nullptr;
  for (const Copy& copy : node.copies) {
    if (copy.first <= index && index < copy.end && (best == nullptr || copy.order < best->order))
      best = &copy;
  }
  if (best == nullptr) return index;
  std::int32_t until = best->end;
  for (const Copy& copy : node.copies) {
    if (copy.order < best->order && copy.first > index) until = std::min(until, copy.first);
  }
  owner = best->owner;
  return until;
}

void KvGroup::lookup(const std::vector<ContentRun>& runs,
                     std::int32_t max_blocks,
                     std::vector<KvExtent>& hits) const {
  hits.clear();
  for (const ContentRun& run : runs) {
    if (run.first >= max_blocks) return;
    const std::uint32_t* found = node_of_.find(run.key);
    if (found == nullptr) return;
    const std::int32_t wanted = std::min(run.end, max_blocks);
    std::int32_t index = run.first;
    while (index < wanted) {
      const std::int32_t until = add_found(nodes_[*found], index, wanted, hits);
      if (until == index) return;
      index = until;
    }
  }
}

// What one copy gives from `index` on; returns where that ends, `index` itself if none gives anything.
std::int32_t KvGroup::add_found(const Node& node,
                                std::int32_t index,
                                std::int32_t wanted,
                                std::vector<KvExtent>& found) const {
  OwnerSlot owner = kNoOwner;
  const std::int32_t until = std::min(found_until(node, index, owner), wanted);
  if (until == index) return until;
  if (!found.empty() && found.back().owner == owner && found.back().end == index) {
    found.back().end = until;
  } else {
    found.push_back({owner, index, until});
  }
  return until;
}

void KvGroup::find_all(const std::vector<ContentRun>& runs,
                       std::int32_t max_blocks,
                       std::vector<KvExtent>& found) const {
  found.clear();
  for (const ContentRun& run : runs) {
    const std::uint32_t* at = node_of_.find(run.key);
    if (at == nullptr) continue;
    const std::int32_t wanted = std::min(run.end, max_blocks);
    std::int32_t index = run.first;
    while (index < wanted) {
      const std::int32_t until = add_found(nodes_[*at], index, wanted, found);
      index = until == index ? next_copy(nodes_[*at], index) : until;
    }
  }
}

// Where the first copy behind `index` begins.
std::int32_t KvGroup::next_copy(const Node& node, std::int32_t index) {
  std::int32_t next = kOpenEnd;
  for (const Copy& copy : node.copies) {
    if (copy.first > index) next = std::min(next, copy.first);
  }
  return next;
}

// The owner's blocks [first, end) lose their content.
void KvGroup::evict(OwnerSlot slot, std::int32_t first, std::int32_t end) {
  std::vector<Published>& published = owners_[slot].published;
  if (published.empty() || published.back().end <= first) return;
  Published& last = published.back();
  std::vector<Copy>& copies = nodes_[last.node].copies;
  // The usual case: the tail of the only copy.
  if (last.first < first && last.end == end && copies.size() == 1 && copies.front().end == end) {
    last.end = copies.front().end = first;
    return;
  }
  evict_any(slot, first, end);
}

// The same, whatever of them is findable in how many copies.
void KvGroup::evict_any(OwnerSlot slot, std::int32_t first, std::int32_t end) {
  std::vector<Published>& published = owners_[slot].published;
  for (std::size_t i = published.size(); i-- > 0;) {
    Published& range = published[i];
    if (range.end <= first) break;  // ranges ascend
    if (range.first >= end) continue;
    const std::int32_t low = std::max(range.first, first);
    const std::int32_t high = std::min(range.end, end);
    cut_copies(range.node, slot, low, high);
    if (range.first < low && range.end == high) {
      range.end = low;
      continue;
    }
    const Published upper{range.node, high, range.end};
    range.end = low;
    if (upper.first < upper.end) {
      published.insert(published.begin() + static_cast<std::ptrdiff_t>(i) + 1, upper);
    }
    if (published[i].first == published[i].end)
      published.erase(published.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void KvGroup::cut_copies(std::uint32_t index, OwnerSlot owner, std::int32_t first, std::int32_t end) {
  std::vector<Copy>& copies = nodes_[index].copies;
  for (std::size_t i = copies.size(); i-- > 0;) {
    const Copy copy = copies[i];
    if (copy.owner != owner || copy.end <= first || copy.first >= end) continue;
    if (copy.first < first && copy.end == end) {
      copies[i].end = first;
      continue;
    }
    copies.erase(copies.begin() + static_cast<std::ptrdiff_t>(i));
    if (copy.first < first) copies.push_back({owner, copy.first, first, copy.order});
    if (copy.end > end) copies.push_back({owner, end, copy.end, copy.order});
  }
  if (!copies.empty()) return;
  node_of_.erase(nodes_[index].key);
  spare_nodes_.push_back(index);
}

bool KvGroup::reset_cache() {
  if (free_ != usable_) return false;
  for (std::uint32_t index = queue_head_; index != kNone; index = pieces_[index].next) {
    evict(pieces_[index].owner, pieces_[index].first, pieces_[index].end);
  }
  return true;
}

// A piece cut where its blocks begin or cease to be findable, ascending.
void KvGroup::add_ranges(const Piece& piece, std::vector<KvRange>& ranges) const {
  const Owner& owner = owners_[piece.owner];
  std::int32_t at = piece.first;
  const auto add = [&](std::int32_t end, bool cached) {
    if (at >= end) return;
    ranges.push_back({owner.request, at, end, piece.refs, cached});
    at = end;
  };
  for (const Published& published : owner.published) {
    add(std::min(published.first, piece.end), false);
    add(std::min(published.end, piece.end), true);
  }
  add(piece.end, false);
}

std::vector<KvRange> KvGroup::ranges() const {
  std::vector<KvRange> ranges;
  for (const Owner& owner : owners_) {
    for (std::uint32_t index = owner.head; index != kNone; index = pieces_[index].next_piece) {
      if (pieces_[index].refs > 0) add_ranges(pieces_[index], ranges);
    }
  }
  for (std::uint32_t index = queue_head_; index != kNone; index = pieces_[index].next) {
    const auto begin = static_cast<std::ptrdiff_t>(ranges.size());
    add_ranges(pieces_[index], ranges);
    std::reverse(ranges.begin() + begin, ranges.end());  // the last block is taken first
  }
  return ranges;
}

void KvGroup::check_all() const {
  std::int64_t free = 0;
  for (std::uint32_t index = queue_head_; index != kNone; index = pieces_[index].next) {
    const Piece& piece = pieces_[index];
    CHECK_INVARIANT(piece.refs == 0 && piece.first < piece.end, index, piece.first, piece.end);
    free += piece.end - piece.first;
  }
  CHECK_INVARIANT(free == free_, free, free_);
  for (const Node& node : nodes_) {
    for (const Copy& copy : node.copies) {
      for (std::int32_t at = copy.first; at < copy.end; ++at) {
        CHECK_INVARIANT(pieces_[piece_at(copy.owner, at)].owner == copy.owner, copy.owner, at);
      }
    }
  }
}

}  // namespace servetwin
