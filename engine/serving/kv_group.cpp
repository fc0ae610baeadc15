// Extents of KV blocks: the free queue, references and their invariants. The prefix index is in kv_index.cpp.
#include "engine/serving/kv_group.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {

// Never-used blocks are one piece of a nameless owner, taken from the top index down.
KvGroup::KvGroup(Blocks num_blocks) : usable_(num_blocks.value - 1), free_(usable_) {
  CHECK_INVARIANT(num_blocks.value >= 2, num_blocks);
  CHECK_INVARIANT(num_blocks.value < kOpenEnd, num_blocks);
  const OwnerSlot nobody = open_owner(kNoRequest, 0, {});
  owners_[nobody].open = false;
  queue_push(new_piece(nobody, 0, static_cast<std::int32_t>(usable_), 0));
}

OwnerSlot KvGroup::open_owner(RequestId request, std::uint32_t life, const std::vector<KvExtent>& hits) {
  for (const KvExtent& extent : hits) hold(extent);
  OwnerSlot slot;
  if (spare_owners_.empty()) {
    slot = static_cast<OwnerSlot>(owners_.size());
    owners_.emplace_back();
  } else {
    slot = spare_owners_.back();
    spare_owners_.pop_back();
  }
  Owner& owner = owners_[slot];
  owner.request = request;
  owner.life = life;
  owner.head = owner.tail = kNone;
  owner.open = true;
  owner.next_index = owner.own_first = hits.empty() ? 0 : hits.back().end;
  owner.gap_first = owner.gap_end = 0;
  owner.hits = hits;
  return slot;
}

void KvGroup::release_owner_if_empty(OwnerSlot slot) {
  Owner& owner = owners_[slot];
  if (owner.open || owner.head != kNone) return;
  CHECK_INVARIANT(owner.published.empty(), raw(owner.request));
  spare_owners_.push_back(slot);
}

std::uint32_t KvGroup::new_piece(OwnerSlot owner, std::int32_t first, std::int32_t end, std::int32_t refs) {
  std::uint32_t index;
  if (spare_pieces_.empty()) {
    index = static_cast<std::uint32_t>(pieces_.size());
    pieces_.emplace_back();
  } else {
    index = spare_pieces_.back();
    spare_pieces_.pop_back();
  }
  pieces_[index] = {first, end, refs, owner, kNone, kNone, kNone};
  Owner& of = owners_[owner];
  if (of.tail == kNone) {
    of.head = of.tail = index;
  } else if (pieces_[of.tail].end <= first) {
    pieces_[of.tail].next_piece = index;
    of.tail = index;
  }
  return index;  // a piece in the middle is linked by split()
}

void KvGroup::drop_piece(std::uint32_t index) {
  Owner& owner = owners_[pieces_[index].owner];
  if (owner.head == index) {
    owner.head = pieces_[index].next_piece;
    if (owner.head == kNone) owner.tail = kNone;
  } else {
    std::uint32_t before = owner.head;
    while (pieces_[before].next_piece != index) before = pieces_[before].next_piece;
    pieces_[before].next_piece = pieces_[index].next_piece;
    if (owner.tail == index) owner.tail = before;
  }
  spare_pieces_.push_back(index);
}

// Cuts a piece into [first, at) and [at, end), the second right after the first among the owner's pieces and,
// if free, right before it in the queue (higher indexes leave first). Returns the second.
std::uint32_t KvGroup::split(std::uint32_t index, std::int32_t at) {
  const Piece whole = pieces_[index];
  const bool was_tail = owners_[whole.owner].tail == index;
  pieces_[index].end = at;
  pieces_[index].next_piece = kNone;
  owners_[whole.owner].tail = index;
  const std::uint32_t upper = new_piece(whole.owner, at, whole.end, whole.refs);
  pieces_[upper].next_piece = whole.next_piece;
  if (!was_tail) {
    std::uint32_t last = upper;
    while (pieces_[last].next_piece != kNone) last = pieces_[last].next_piece;
    owners_[whole.owner].tail = last;
  }
  if (whole.refs > 0) return upper;
  pieces_[upper].prev = whole.prev;
  pieces_[upper].next = index;
  if (whole.prev == kNone) {
    queue_head_ = upper;
  } else {
    pieces_[whole.prev].next = upper;
  }
  pieces_[index].prev = upper;
  return upper;
}

std::uint32_t KvGroup::piece_at(OwnerSlot owner, std::int32_t at) const {
  std::uint32_t index = owners_[owner].head;
  while (index != kNone && pieces_[index].end <= at) index = pieces_[index].next_piece;
  CHECK_INVARIANT(index != kNone && pieces_[index].first <= at, owner, at);
  return index;
}

void KvGroup::queue_push(std::uint32_t index) {
  Piece& piece = pieces_[index];
  piece.prev = queue_tail_;
  piece.next = kNone;
  if (queue_tail_ == kNone) {
    queue_head_ = index;
  } else {
    pieces_[queue_tail_].next = index;
  }
  queue_tail_ = index;
}

void KvGroup::queue_remove(std::uint32_t index) {
  Piece& piece = pieces_[index];
  (piece.prev == kNone ? queue_head_ : pieces_[piece.prev].next) = piece.next;
  (piece.next == kNone ? queue_tail_ : pieces_[piece.next].prev) = piece.prev;
  piece.prev = piece.next = kNone;
}

void KvGroup::take(std::int64_t count) {
  CHECK_INVARIANT(count <= free_, count, free_);
  free_ -= count;
  while (count > 0) {
    Piece& piece = pieces_[queue_head_];
    const std::int64_t size = piece.end - piece.first;
    const auto part = static_cast<std::int32_t>(std::min(count, size));
    note_taken(owners_[piece.owner], piece.end - 1, part);
    evict(piece.owner, piece.end - part, piece.end);
    piece.end -= part;
    count -= part;
    if (piece.first == piece.end) drop_head();
  }
}

// Nothing is left of the queue's first piece.
void KvGroup::drop_head() {
  const std::uint32_t index = queue_head_;
  const OwnerSlot slot = pieces_[index].owner;
  queue_remove(index);
  drop_piece(index);
  release_owner_if_empty(slot);
}

void KvGroup::note_taken(const Owner& owner, std::int32_t top, std::int32_t count) {
  if (!taken_.empty()) {
    TakenExtent& last = taken_.back();
    if (last.request == owner.request && last.life == owner.life && last.top - last.count == top) {
      last.count += count;
      return;
    }
  }
  taken_.push_back({owner.request, owner.life, top, count});
}

void KvGroup::extend(OwnerSlot slot, std::int32_t end) {
  Owner& owner = owners_[slot];
  if (end == owner.next_index) return;
  CHECK_INVARIANT(owner.open && end > owner.next_index, slot, end, owner.next_index);
  const std::int32_t first = owner.next_index;
  owner.next_index = end;
  if (owner.tail != kNone && pieces_[owner.tail].refs == 1 && pieces_[owner.tail].end == first) {
    pieces_[owner.tail].end = end;
  } else {
    new_piece(slot, first, end, 1);
  }
  if (listener_ != nullptr) listener_->on_allocate(slot, first, end - first);
}

// Those of the extents' blocks that so many sequences hold.
std::int64_t KvGroup::blocks_in(const std::vector<KvExtent>& extents, std::int32_t refs) const {
  std::int64_t count = 0;
  for (const KvExtent& extent : extents) {
    for (std::uint32_t index = piece_at(extent.owner, extent.first);
         index != kNone && pieces_[index].first < extent.end; index = pieces_[index].next_piece) {
      const Piece& piece = pieces_[index];
      if (piece.refs == refs) count += std::min(piece.end, extent.end) - std::max(piece.first, extent.first);
    }
  }
  return count;
}

Blocks KvGroup::held_alone(OwnerSlot slot) const {
  const Owner& owner = owners_[slot];
  std::int64_t count = blocks_in(owner.hits, 1);
  for (std::uint32_t index = owner.head; index != kNone; index = pieces_[index].next_piece) {
    const Piece& piece = pieces_[index];
    if (piece.refs == 1) count += piece.end - piece.first;
  }
  return Blocks{count};
}

void KvGroup::hold(const KvExtent& extent) {
  std::uint32_t index = piece_at(extent.owner, extent.first);
  if (pieces_[index].first < extent.first) index = split(index, extent.first);
  while (index != kNone && pieces_[index].first < extent.end) {
    if (pieces_[index].end > extent.end) split(index, extent.end);
    Piece& piece = pieces_[index];
    if (piece.refs == 0) {
      queue_remove(index);
      free_ -= piece.end - piece.first;
      if (listener_ != nullptr) listener_->on_touch(piece.owner, piece.first, piece.end - piece.first);
    }
    ++piece.refs;
    index = piece.next_piece;
  }
}

void KvGroup::release(OwnerSlot slot) {
  Owner& owner = owners_[slot];
  CHECK_INVARIANT(owner.open, slot);
  owner.open = false;
  if (owner.gap_end > 0) {
    let_go_own_around_gap(slot);
  } else if (owner.head != kNone) {
    let_go({slot, pieces_[owner.head].first, owner.next_index});
  }
  for (auto extent = owner.hits.rbegin(); extent != owner.hits.rend(); ++extent) let_go(*extent);
  owner.hits.clear();
  release_owner_if_empty(slot);
}

// What comes behind the gap first, then what lies before it.
void KvGroup::let_go_own_around_gap(OwnerSlot slot) {
  const Owner& owner = owners_[slot];
  const std::int32_t behind = std::max(owner.own_first, owner.gap_end);
  const std::int32_t before = std::min(owner.next_index, owner.gap_first);
  if (behind < owner.next_index) let_go({slot, behind, owner.next_index});
  if (owner.own_first < before) let_go({slot, owner.own_first, before});
}

void KvGroup::begin_without(OwnerSlot slot, std::int32_t first, std::int32_t end) {
  Owner& owner = owners_[slot];
  CHECK_INVARIANT(owner.open && first < end && end <= owner.next_index, slot, first, end);
  owner.gap_first = first;
  owner.gap_end = end;
}

// A piece begins at that block.
void KvGroup::cut(OwnerSlot slot, std::int32_t at) {
  const std::uint32_t index = piece_at(slot, at);
  if (pieces_[index].first < at) split(index, at);
}

std::int64_t KvGroup::pass(OwnerSlot slot, std::int32_t first, std::int32_t end) {
  Owner& owner = owners_[slot];
  const std::int32_t from = std::max(first, owner.gap_end);
  if (end <= from) return 0;
  CHECK_INVARIANT(owner.open && end <= owner.next_index, slot, end, owner.next_index);
  owner.gap_first = first;
  owner.gap_end = end;
  const std::int32_t own_from = std::max(from, owner.own_first);
  if (own_from < end) {
    cut(slot, own_from);
    if (end < owner.next_index) cut(slot, end);
    let_go({slot, own_from, end});
  }
  pass_hits(owner.hits, from, end);
  return end - from;
}

// Drops [from, end) of the extents.
void KvGroup::pass_hits(std::vector<KvExtent>& hits, std::int32_t from, std::int32_t end) {
  for (std::size_t i = hits.size(); i-- > 0;) {
    const KvExtent hit = hits[i];
    const KvExtent passed{hit.owner, std::max(hit.first, from), std::min(hit.end, end)};
    if (passed.first >= passed.end) continue;
    cut(hit.owner, passed.first);
    if (passed.end < hit.end) cut(hit.owner, passed.end);
    let_go(passed);
    hits.erase(hits.begin() + static_cast<std::ptrdiff_t>(i));
    const auto at = hits.begin() + static_cast<std::ptrdiff_t>(i);
    if (passed.end < hit.end) hits.insert(at, {hit.owner, passed.end, hit.end});
    if (hit.first < passed.first)
      hits.insert(hits.begin() + static_cast<std::ptrdiff_t>(i), {hit.owner, hit.first, passed.first});
  }
}

// Last block first. Every block of the extent is held, so its pieces are adjacent.
void KvGroup::let_go(const KvExtent& extent) {
  scratch_.clear();
  std::uint32_t index = piece_at(extent.owner, extent.first);
  CHECK_INVARIANT(pieces_[index].first == extent.first, extent.owner, extent.first);
  for (; index != kNone && pieces_[index].first < extent.end; index = pieces_[index].next_piece) {
    scratch_.push_back(index);
  }
  CHECK_INVARIANT(pieces_[scratch_.back()].end == extent.end, extent.owner, extent.end);
  for (auto piece = scratch_.rbegin(); piece != scratch_.rend(); ++piece) let_go_piece(*piece);
}

void KvGroup::let_go_piece(std::uint32_t index) {
  Piece& piece = pieces_[index];
  CHECK_INVARIANT(piece.refs > 0, piece.owner, piece.first);
  if (--piece.refs > 0) return;
  free_ += piece.end - piece.first;
  if (listener_ != nullptr) listener_->on_free(piece.owner, piece.first, piece.end - piece.first);
  Piece* last = queue_tail_ == kNone ? nullptr : &pieces_[queue_tail_];
  if (last != nullptr && last->owner == piece.owner && last->first == piece.end) {
    // The queue's last piece continues downwards with this one: one piece from now on.
    last->first = piece.first;
    const std::uint32_t joined = queue_tail_;
    Owner& owner = owners_[piece.owner];
    std::uint32_t* link = &owner.head;
    while (*link != index) link = &pieces_[*link].next_piece;
    *link = joined;
    CHECK_INVARIANT(piece.next_piece == joined, index, joined);
    spare_pieces_.push_back(index);
    return;
  }
  queue_push(index);
}

}  // namespace servetwin
